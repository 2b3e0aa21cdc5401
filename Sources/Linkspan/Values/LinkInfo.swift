/// Information about an open link.
public struct LinkInfo: Sendable, Hashable {
    /// The server's name for this session, when it has one.
    ///
    /// Not a secret.
    public var sessionID: String?
    /// Facts for people: protocol version, sub-protocol, and so on; over the network `carrier`, which is `websocket` or
    /// `polling`.
    public var facts: [String: String]
    /// The header fields of the server's response that the transport was told to keep, such as by `responseHeaders` of a raw
    /// WebSocket's configuration; empty otherwise.
    ///
    /// Their values never print, since a server may set cookies by them.
    public var headers: [Credentials.Field] = []
    /// The other nodes of the server's cluster that it has named; they are tried after the configured endpoints.
    ///
    /// Only those with the scheme of the link's own URL, up to 32.
    public var endpoints: [ConnectionURL] = []
    /// Whether the server resumed the former session, so that nothing was missed.
    public var isContinuous: Bool
    /// The latest measured time from a question to its answer; nil as long as none was measured.
    ///
    /// By the wire's own ping, or by ``ConnectionOptions/probeEvent``.
    public var roundTrip: Duration?

    /// Makes the information.
    public init(sessionID: String? = nil, facts: [String: String] = [:], isContinuous: Bool = false) {
        self.sessionID = sessionID
        self.facts = facts
        self.isContinuous = isContinuous
    }
}

extension LinkInfo: CustomStringConvertible {
    /// The facts in one line, in the order of their names, without the name of the session.
    public var description: String {
        let facts = self.facts.sorted { $0.key < $1.key }.map { "\($0.key) \(ForeignText.line($0.value))" }
        let roundTrip = self.roundTrip.map { "round trip \($0.text)" }
        return (facts + [self.isContinuous ? "session resumed" : nil, roundTrip].compactMap(\.self)).joined(
            separator: ", ")
    }
}
