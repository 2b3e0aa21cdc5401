/// The name of a service: its identity among its siblings, by which others declare their needs.
public struct ServiceName: RawRepresentable, Sendable, Hashable, ExpressibleByStringInterpolation,
    CustomStringConvertible
{
    /// The text of the name.
    public var rawValue: String

    /// Makes a name from its text.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Makes a name from a literal.
    public init(stringLiteral value: String) {
        self.rawValue = value
    }

    /// The text of the name.
    public var description: String { self.rawValue }
}
