internal import Linkspan
internal import LinkspanSocketIO

/// What a hostile server does, and what is to come of it.
struct Attack: Sendable {
    /// What the client speaks.
    enum Wire: String, Sendable, CaseIterable {
        case socketIO
        case webSocket
        case polling
        /// A WebSocket that a polling session has changed to, or was about to.
        case upgrade

        var carriers: SocketIOCarriers {
            switch self {
            case .socketIO, .webSocket: .webSocket
            case .polling: .polling
            case .upgrade: .upgrade
            }
        }
    }

    /// As the script has it.
    let name: String
    let wire: Wire
    /// How the client has to end the link; nil when the attack does no harm, and the link has to stay.
    let outcome: LinkspanError.Code?
    /// The deadline of attacks that consist of waiting.
    let deadline: Duration
    /// Whether the attack runs alone and not in a group: it needs most of the memory that one connection may use, or a
    /// packet rate that a slow machine reaches only without other attacks.
    let runsAlone: Bool
    /// The most bytes of a message that the client accepts.
    let messageLimit: Int

    /// The path that the server knows it by.
    var path: String { self.wire == .webSocket ? "/webSocket/\(self.name)" : "/socket.io/\(self.wire)/\(self.name)/" }

    /// How long the link may take to open in this suite.
    static let openDeadline = Duration.seconds(3)
    /// The shortest heartbeat that is believed: a second, and a second of grace.
    static let shortestHeartbeat = Duration.seconds(2)

    init(
        _ name: String, _ wire: Wire, _ outcome: LinkspanError.Code?, after deadline: Duration = .zero,
        runsAlone: Bool = false, messageLimit: Int = 16 << 20
    ) {
        self.name = name
        self.wire = wire
        self.outcome = outcome
        self.deadline = deadline
        self.runsAlone = runsAlone
        self.messageLimit = messageLimit
    }
}

extension Attack {
    /// All of them.
    static let all =
        [Wire.socketIO, .webSocket, .upgrade].flatMap(Self.byMessages)
        + [Wire.socketIO, .webSocket].flatMap(Self.byAnswers)
        + [Wire.socketIO, .upgrade].flatMap(Self.byPackets) + Self.byHandshakes + Self.byPolls + Self.byCandidates

    /// Over a WebSocket that is open.
    private static func byMessages(_ wire: Wire) -> [Self] {
        [
            Self("endless-fragments", wire, .protocolViolation),
            Self("empty-fragments", wire, .protocolViolation),
            Self("websocket-pings", wire, .protocolViolation),
            Self("unread-pings", wire, .protocolViolation),
            Self("many-attachments", wire, .protocolViolation),
            Self("large-attachments", wire, .protocolViolation, runsAlone: true),
            Self("deep-json", wire, .protocolViolation),
            Self("huge-length", wire, .protocolViolation),
            Self("endless-message", wire, .protocolViolation, runsAlone: true),
            Self("text-for-binary", wire, .protocolViolation),
        ]
    }

    /// Before there is one.
    private static func byAnswers(_ wire: Wire) -> [Self] {
        [
            Self("dripped-head", wire, .timedOut, after: Self.openDeadline),
            Self("header-flood", wire, .protocolViolation),
            Self("redirect", wire, .redirected),
        ]
    }

    private static func byPackets(_ wire: Wire) -> [Self] {
        [
            Self("engine-pings", wire, .protocolViolation),
            Self("zero-attachments", wire, .protocolViolation),
        ]
    }

    private static let byHandshakes = [
        Self("unanswered-connect", .socketIO, .timedOut, after: Self.openDeadline),
        Self("absurd-numbers", .socketIO, .heartbeatMissed, after: Self.shortestHeartbeat),
        Self("hostile-sid", .socketIO, .protocolViolation),
        Self("early-events", .socketIO, .protocolViolation),
    ]
}

extension Attack {
    /// By answers to polls and posts.
    private static let byPolls = [
        Self("poll-header-flood", .polling, .protocolViolation),
        Self("poll-huge-length", .polling, .protocolViolation),
        Self("poll-absurd-length", .polling, .protocolViolation),
        Self("poll-endless-chunks", .polling, .protocolViolation, runsAlone: true),
        Self("poll-endless-body", .polling, .protocolViolation, runsAlone: true),
        // What comes proves that the server lives, so that the end is the limit of one packet, which comes in small chunks.
        Self(
            "poll-small-chunks", .polling, .protocolViolation, after: .seconds(60), runsAlone: true,
            messageLimit: 1 << 20),
        Self("poll-dripped-head", .polling, .timedOut, after: Self.openDeadline),
        Self("poll-dripped-body", .polling, .timedOut, after: Self.openDeadline),
        Self("poll-empty-answers", .polling, .protocolViolation, runsAlone: true),
        Self("poll-noops", .polling, .protocolViolation),
        Self("poll-pings", .polling, .protocolViolation),
        Self("poll-many-noops", .polling, .protocolViolation),
        Self("poll-separators", .polling, .protocolViolation, runsAlone: true),
        Self("poll-many-events", .polling, nil, runsAlone: true),
        Self("poll-large-answers", .polling, nil, runsAlone: true),
        Self("poll-small-events", .polling, nil, runsAlone: true),
        Self("poll-many-attachments", .polling, .protocolViolation),
        Self("poll-zero-attachments", .polling, .protocolViolation),
        Self("poll-large-attachments", .polling, .protocolViolation, runsAlone: true),
        Self("poll-kept-bodies", .polling, nil, runsAlone: true),
        Self("poll-deep-json", .polling, .protocolViolation),
        Self("poll-text-for-binary", .polling, .protocolViolation),
        Self("poll-unanswered-connect", .polling, .timedOut, after: Self.openDeadline),
        Self("poll-unanswered-post", .polling, .timedOut, after: Self.openDeadline),
        Self("poll-failing-post", .polling, .serverUnavailable),
        Self("poll-unread-post", .polling, .connectionLost),
        Self("poll-absurd-numbers", .polling, .heartbeatMissed, after: Self.shortestHeartbeat),
        Self("poll-hostile-sid", .polling, .protocolViolation),
        Self("poll-redirect", .polling, .redirected),
        Self("poll-later-redirect", .polling, .connectionLost),
        Self("poll-post-redirect", .polling, .connectionLost),
        Self("poll-cookie-flood", .polling, nil),
        Self("poll-hostile-cookies", .polling, nil),
        Self("poll-gzip", .polling, .protocolViolation),
        Self("poll-unknown-coding", .polling, .protocolViolation),
        Self("poll-not-utf8", .polling, .protocolViolation),
        Self("poll-chunk-nonsense", .polling, .protocolViolation),
        Self("poll-huge-chunk", .polling, .protocolViolation),
        Self("poll-chunk-extensions", .polling, .protocolViolation),
        Self("poll-trailers", .polling, .protocolViolation),
        Self("poll-continue", .polling, .protocolViolation),
    ]

    /// By the WebSocket that a polling session tries: the session stays what it is.
    private static let byCandidates =
        [
            "silent", "refused", "redirected", "hung-up", "header-flood", "unanswered", "wrong", "flood", "pings",
            "huge-length", "left-open", "left-probe", "left-answer", "more-than-answered",
        ].map { Self("candidate-\($0)", .upgrade, nil) } + [
            Self("candidate-large-frame", .upgrade, nil, runsAlone: true),
            Self("candidate-lost", .upgrade, .connectionLost),
        ]
}

/// Attacks that are made at once, so that the suite takes less time.
struct AttackGroup: Sendable, CustomStringConvertible {
    /// As many as leave each one a part of the memory and of the time.
    private static let most = 8

    let attacks: [Attack]
    let isSecure: Bool

    var description: String {
        self.attacks.map { "\($0.name) over \($0.wire)" }.joined(separator: ", ") + (self.isSecure ? " with TLS" : "")
    }

    /// Every attack, in the clear and over TLS: in groups, or each alone.
    static func all(eachAlone: Bool, only name: String?) -> [Self] {
        [false, true].flatMap { isSecure in
            Attack.Wire.allCases.flatMap { wire in
                let attacks = Attack.all.filter { $0.wire == wire && [nil, $0.name].contains(name) }
                let light = attacks.filter { !$0.runsAlone }
                let size = eachAlone ? 1 : Self.most
                let groups = stride(from: 0, to: light.count, by: size).map { Array(light[$0...].prefix(size)) }
                return (groups + attacks.filter(\.runsAlone).map { [$0] }).map { Self(attacks: $0, isSecure: isSecure) }
            }
        }
    }
}
