/// What was pressed, whatever bytes the terminal sends for it.
enum Key: Hashable, Sendable {
    /// A scalar of text; a character may come as several.
    case text(Unicode.Scalar)
    /// Text from the clipboard, whole, its line ends being `\n`.
    case paste(String)
    /// A small letter with Control.
    case control(Unicode.Scalar)
    /// A character with Alt.
    case alt(Unicode.Scalar)
    case enter
    case tab
    case backspace
    case delete
    case escape
    case up
    case down
    case left
    case right
    case wordLeft
    case wordRight
    case home
    case end
    case pageUp
    case pageDown
    /// Tab with Shift.
    case backTab
    case wheelUp
    case wheelDown
}
