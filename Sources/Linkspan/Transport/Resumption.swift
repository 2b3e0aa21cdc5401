/// What lets a server resume a session over a new link, so that nothing is missed.
///
/// Made by a transport whose server offers that, and understood by it alone. Whoever has it can take the session over:
/// keep it as you would a token.
///
/// ```swift
/// let kept = connection.status.resumption?.state.exposed  // before the process ends
/// …
/// let connection = try ConnectionBuilder("https://chat.example")
///     .transport(.socketIO)
///     .resuming(kept.map { Resumption(state: Secret($0)) })
///     .connect()
/// ```
public struct Resumption: Sendable, Hashable {
    /// What the transport needs to resume, in its own format.
    public let state: Secret

    /// Wraps what a transport needs to resume, perhaps kept by a former process.
    public init(state: Secret) { self.state = state }
}
