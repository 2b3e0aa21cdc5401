internal import Linkspan

/// What a hostile server does, and what is to come of it.
struct Attack: Sendable, CustomStringConvertible {
    /// What the client speaks; polling is one more of these.
    enum Wire: String, Sendable, CaseIterable {
        case socketIO
        case webSocket
    }

    /// As the script has it.
    let name: String
    let wire: Wire
    /// How the client has to end the link; nil when the attack does no harm and the link may stay.
    let outcome: LinkspanError.Code?
    /// How long after the limit that may be: a second, and the deadline of attacks that consist of waiting.
    let patience: Duration

    var description: String { "\(self.name) over \(self.wire.rawValue)" }

    /// How long the link may take to open in this suite.
    static let openDeadline = Duration.seconds(1)

    private init(_ name: String, _ wire: Wire, _ outcome: LinkspanError.Code?, after deadline: Duration = .zero) {
        self.name = name
        self.wire = wire
        self.outcome = outcome
        self.patience = deadline + .seconds(1)
    }

    /// All of them.
    static let all = Wire.allCases.flatMap(Self.common) + Self.ofSocketIO

    private static func common(_ wire: Wire) -> [Self] {
        [
            Self("endless-fragments", wire, .protocolViolation),
            Self("empty-fragments", wire, .protocolViolation),
            Self("websocket-pings", wire, .protocolViolation),
            Self("unread-pings", wire, .protocolViolation),
            Self("many-attachments", wire, .protocolViolation),
            Self("large-attachments", wire, .protocolViolation),
            Self("deep-json", wire, .protocolViolation),
            Self("dripped-head", wire, .timedOut, after: Self.openDeadline),
            Self("header-flood", wire, .protocolViolation),
            Self("huge-length", wire, .protocolViolation),
            Self("endless-message", wire, .protocolViolation),
            Self("redirect", wire, .redirected),
            Self("text-for-binary", wire, .protocolViolation),
        ]
    }

    private static let ofSocketIO = [
        Self("engine-pings", .socketIO, .protocolViolation),
        Self("zero-attachments", .socketIO, .protocolViolation),
        Self("unanswered-connect", .socketIO, .timedOut, after: Self.openDeadline),
        // The shortest heartbeat that is believed: a second, and a second of grace.
        Self("absurd-numbers", .socketIO, .heartbeatMissed, after: .seconds(2)),
        Self("hostile-sid", .socketIO, .protocolViolation),
        Self("early-events", .socketIO, .timedOut, after: Self.openDeadline),
    ]
}
