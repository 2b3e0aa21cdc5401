/// Decides from looks at a file when it has changed and the change is complete.
///
/// Editors write a new file and rename it, or empty the old one and fill it again; between two looks that are alike in
/// everything, nobody wrote.
struct FileWatch: Sendable {
    /// The content that has been dealt with, well or badly.
    private var known: FileLook.Content?
    /// The new content that was seen once.
    private var candidate: FileLook?

    init(known: FileLook.Content?) { self.known = known }

    /// Sees the file; true when there is a change to be dealt with, once for each.
    mutating func see(_ look: FileLook) -> Bool {
        guard look.content != self.known else {
            self.candidate = nil
            return false
        }
        guard look == self.candidate else {
            self.candidate = look
            return false
        }
        self.accept(look.content)
        return true
    }

    /// Notes that this has been dealt with.
    mutating func accept(_ content: FileLook.Content) {
        self.known = content
        self.candidate = nil
    }
}
