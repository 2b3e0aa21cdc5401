/// A value that wins over environment and file, usually from a flag of the app's own command line.
public struct Override: Sendable, Hashable {
    /// The key, such as `transport.adapter`; the root `linkspan.` may be left out.
    public var path: String
    /// The value as text; lists are separated by commas.
    public var value: String
    /// The origin of the value, for messages: the flag's name, such as `--transport`.
    ///
    /// Secrets are refused from an origin that begins with a dash: other users can read command lines.
    public var origin: String

    /// Makes an override.
    public init(path: String, value: String, origin: String) {
        self.path = path
        self.value = value
        self.origin = origin
    }
}
