/// A text that never prints.
///
/// Two secrets are equal when all their bytes are; texts that merely look the same are different secrets.
public struct Secret: Sendable, Hashable, ExpressibleByStringLiteral, Redacted {
    private let bytes: [UInt8]

    /// The text itself.
    ///
    /// The caller is responsible for keeping it out of logs, files and messages.
    public var exposed: String { String(decoding: self.bytes, as: UTF8.self) }

    /// Hides a text.
    public init(_ text: String) { self.bytes = Array(text.utf8) }
    /// Hides a text.
    public init(stringLiteral value: String) { self.init(value) }

    /// Always `<redacted>`.
    public var description: String { "<redacted>" }
}

/// A value whose contents neither logs nor dumps show: credentials, and what people write to one another.
package protocol Redacted: CustomStringConvertible, CustomReflectable {}

extension Redacted {
    /// Nothing to look into.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
