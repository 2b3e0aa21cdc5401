/// A text that never prints, such as a key or a password.
public struct HiddenText: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    let text: String

    /// Hides a text.
    public init(_ text: String) { self.text = text }

    /// Always `<redacted>`.
    public var description: String { "<redacted>" }
    /// Always `<redacted>`.
    public var debugDescription: String { "<redacted>" }
    /// Nothing to look into.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
