internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime

/// The carrier that an engine opens.
enum CarrierChoice: Sendable, Equatable {
    /// A WebSocket, within this share of the time there is.
    case webSocket(share: Double)
    case polling
    /// Polling, with a WebSocket tried beside it.
    case upgrade
    /// Polling, with the first upgrade attempt after ten minutes, because a WebSocket has just failed.
    case laterUpgrade
    /// One poll, which tells why the server hangs up on WebSockets.
    case question

    /// The share of the time there is.
    var share: Double { if case .webSocket(let share) = self { share } else { 1 } }

    /// Whether the engine tries another carrier when no session opens over this one.
    var isProvisional: Bool { self.share < 1 }
}

/// Experience with servers: the carriers that work and fail there, and where links may not share a socket.
struct CarrierMemory: Sendable {
    /// A server, as far as it matters to what stands in front of it, and for whom.
    struct Place: Sendable, Hashable {
        var host: String
        var port: Int
        var isSecure: Bool
        var path: String
        /// The hash of the identity: nothing of the credentials is kept here.
        var identity: Int
    }

    /// The time for which experience counts: networks change, and proxies are repaired.
    static let memory = Duration.seconds(600)
    /// The most servers that are remembered.
    static let maximumPlaces = 1000

    /// The time within which a session that the server no longer knows counts as one that another server has begun.
    private static let beginning = Duration.seconds(10)

    private struct Experience: Sendable {
        /// The end of the time in which polling comes first.
        var polled: Moment?
        /// Whether a WebSocket failed for a reason that polling would not meet, and polling has not worked yet.
        var isSuspected = false
        /// The end of the time in which each link opens a socket of its own.
        var separated: Moment?
        /// The WebSockets in a row that the server ended without an answer.
        var unanswered = 0
        /// The sessions in a row that the server did not know when it had just begun them.
        var forgotten = 0
        /// The end of the time in which an upgrade, whose polls need sticky sessions, is a WebSocket from the start.
        var scattered: Moment?
    }

    private var experiences: [Place: Experience] = [:]

    private subscript(place: Place) -> Experience {
        get { self.experiences[place] ?? Experience() }
        set {
            if self.experiences.count >= Self.maximumPlaces { self.experiences = [:] }
            self.experiences[place] = newValue
        }
    }

    /// The carrier to begin with.
    func choice(
        for place: Place, _ carriers: SocketIOCarriers, now: Moment
    ) -> CarrierChoice {
        switch carriers {
        case .webSocket: .webSocket(share: 1)
        case .polling: .polling
        case .upgrade: Self.isAhead(self[place].scattered, now) ? .webSocket(share: 1) : .upgrade
        case .fallback:
            // Polling that is remembered has a WebSocket tried beside it, which costs one request. Otherwise half the time,
            // because what swallows WebSockets seldom says so.
            Self.isAhead(self[place].polled, now) ? .upgrade : .webSocket(share: 0.5)
        }
    }

    private static func isAhead(_ end: Moment?, _ now: Moment) -> Bool { end.map { now < $0 } ?? false }

    /// The carrier to go on with when a choice has failed before there was a session; nil when there is nothing else to
    /// try.
    mutating func otherChoice(
        for place: Place, _ carriers: SocketIOCarriers, insteadOf choice: CarrierChoice,
        after error: LinkspanError
    ) -> CarrierChoice? {
        guard case .webSocket = choice else {
            self.experiences[place]?.polled = nil
            return nil
        }
        switch carriers {
        case .polling: return nil
        case .upgrade:
            // It takes no WebSocket either.
            self.experiences[place]?.scattered = nil
            return nil
        case .webSocket:
            // The official server says nothing to a WebSocket at a path that is not its own, and hangs up.
            let isUnanswered = (error.cause as? ByteStreamError)?.code == .closedByPeer
            let unanswered = isUnanswered ? self[place].unanswered + 1 : 0
            self[place].unanswered = unanswered % 2
            return unanswered == 2 ? .question : nil
        case .fallback:
            guard Self.mayDifferForPolling(error) else { return nil }
            self[place].isSuspected = Self.tellsOfCarrier(error)
            // Otherwise the server may take a WebSocket again in a moment, so that one is tried beside the session.
            return self[place].isSuspected ? .laterUpgrade : .upgrade
        }
    }

    /// A choice has brought a session about.
    mutating func worked(_ choice: CarrierChoice, for place: Place, now: Moment) {
        self.experiences[place]?.unanswered = 0
        guard choice == .laterUpgrade, self[place].isSuspected else { return }
        self[place].isSuspected = false
        self[place].polled = now.advanced(by: Self.memory)
    }

    /// The carrier of a session that began then has closed; nil when there was none.
    ///
    /// - Returns: the error, which names the cause when requests of one session reach several servers.
    mutating func ended(
        _ error: LinkspanError, began: Moment?, for place: Place, now: Moment
    ) -> LinkspanError {
        guard let began else { return error }
        guard (error.cause as? ByteStreamError)?.status == 400, began.duration(to: now) < Self.beginning else {
            self.experiences[place]?.forgotten = 0
            return error
        }
        self[place].forgotten += 1
        guard self[place].forgotten > 1 else { return error }
        (self[place].scattered, self[place].polled) = (now.advanced(by: Self.memory), nil)
        return LinkspanError(
            .connectionLost,
            "the server twice did not know a session that had just begun: polling through a load balancer needs "
                + "sticky sessions, a WebSocket alone does not", cause: error)
    }

    /// Gives each of the next links to a server a socket: a message that is sent again then ends its own link only.
    mutating func separate(_ place: Place, now: Moment) {
        self[place].separated = now.advanced(by: Self.memory)
    }

    /// Whether a link opens a socket of its own; `place` is called only when there is such a server.
    func isSeparated(_ place: @autoclosure () -> Place, now: Moment) -> Bool {
        !self.experiences.isEmpty && Self.isAhead(self[place()].separated, now)
    }

    /// Whether a failure is about WebSockets, and not about a server that is busy, restarts or is gone.
    private static func tellsOfCarrier(_ error: LinkspanError) -> Bool {
        guard let failure = error.cause as? ByteStreamError else {
            // With a Close frame a server says that it goes away or has no room.
            return ![.connectionLost, .serverUnavailable, .closedByServer].contains(error.code)
        }
        switch failure.code {
        case .refused, .refusedAfterUpgrade:
            // Not implemented (501) is said of the upgrade; any other 5xx, 408 and 429 of the moment.
            let status = failure.status ?? 0
            return status != 408 && status != 429 && (status < 500 || status == 501)
        // Names, TCP and TLS are the same for polling.
        case .timedOut: return failure.stage == .upgrade
        case .handshakeMalformed: return true
        default: return false
        }
    }

    /// Whether HTTP could succeed where a WebSocket failed with this error.
    private static func mayDifferForPolling(_ error: LinkspanError) -> Bool {
        let hopeless: [LinkspanError.Code] = [
            .credentialsRefused, .tlsFailed, .nameNotResolved, .invalidConfiguration, .redirected,
        ]
        let isUnreachable = (error.cause as? ByteStreamError)?.code == .unreachable
        return !isUnreachable && !hopeless.contains(error.code)
    }
}
