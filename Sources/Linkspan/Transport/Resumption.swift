/// What lets a server resume a session over a new link, so that nothing is missed.
///
/// Made by a transport whose server offers that, and understood by it alone. Whoever has it can take the session over:
/// keep it as you would a token.
///
/// ```swift
/// let key = connection.resumption?.exported  // before the process ends
/// …
/// let connection = try ConnectionBuilder("https://chat.example")
///     .transport(.socketIO)
///     .resuming(key.map(Resumption.init(exported:)))
///     .connect()
/// ```
public struct Resumption: Sendable, Hashable {
    /// The transport's own words.
    public let state: Secret

    /// For transports: wraps what is needed to resume.
    public init(state: Secret) { self.state = state }

    /// Takes back what ``exported`` gave, perhaps in a former process.
    public init(exported: String) { self.state = Secret(exported) }

    /// The text to keep, a secret.
    public var exported: String { self.state.exposed }
}
