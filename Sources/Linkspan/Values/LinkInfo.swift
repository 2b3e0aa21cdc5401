/// Information about an open link.
public struct LinkInfo: Sendable, Hashable {
    /// The server's name for this session, when it has one.
    ///
    /// Not a secret.
    public var sessionID: String?
    /// Facts for people: protocol version, sub-protocol, and so on; over the network `carrier`, which is `websocket` or
    /// `polling`.
    public var facts: [String: String]
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
