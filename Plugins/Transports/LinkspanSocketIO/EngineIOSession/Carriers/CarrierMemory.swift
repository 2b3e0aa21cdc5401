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

    /// The share of the time there is.
    var share: Double { if case .webSocket(let share) = self { share } else { 1 } }

    /// Whether the engine tries another carrier when no session opens over this one.
    var isProvisional: Bool { self.share < 1 }
}

/// Experience with servers: where polling works and a WebSocket does not, and where links may not share a socket.
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

    private var polled: [Place: Moment] = [:]
    /// The servers for which a WebSocket failed in a way that tells of its carrier, and polling has not worked yet.
    private var suspected: Set<Place> = []
    /// The servers to which each link opens a socket of its own, with the end of that time.
    private var separated: [Place: Moment] = [:]

    /// The carrier to begin with.
    func choice(
        for place: Place, _ carriers: SocketIOCarriers, now: Moment
    ) -> CarrierChoice {
        switch carriers {
        case .webSocket: .webSocket(share: 1)
        case .polling: .polling
        case .upgrade: .upgrade
        case .fallback:
            // Polling that is remembered has a WebSocket tried beside it, which costs one request. Otherwise half the time,
            // because what swallows WebSockets seldom says so.
            self.polled[place].map { now < $0 } ?? false ? .upgrade : .webSocket(share: 0.5)
        }
    }

    /// The carrier to go on with when a choice has failed before there was a session; nil when there is nothing else to
    /// try.
    mutating func otherChoice(
        for place: Place, _ carriers: SocketIOCarriers, insteadOf choice: CarrierChoice,
        after error: LinkspanError
    ) -> CarrierChoice? {
        guard carriers == .fallback else { return nil }
        guard case .webSocket = choice else {
            self.polled[place] = nil
            return nil
        }
        guard Self.mayDifferForPolling(error) else { return nil }
        if self.suspected.count >= Self.maximumPlaces { self.suspected = [] }
        guard Self.tellsOfCarrier(error) else {
            // The server may take a WebSocket again in a moment, so that one is tried beside the session.
            self.suspected.remove(place)
            return .upgrade
        }
        self.suspected.insert(place)
        return .laterUpgrade
    }

    /// A choice has brought a session about.
    mutating func worked(_ choice: CarrierChoice, for place: Place, now: Moment) {
        guard choice == .laterUpgrade, self.suspected.remove(place) != nil else { return }
        if self.polled.count >= Self.maximumPlaces { self.polled = [:] }
        self.polled[place] = now.advanced(by: Self.memory)
    }

    /// Gives each of the next links to a server a socket: a message that is sent again then ends its own link only.
    mutating func separate(_ place: Place, now: Moment) {
        if self.separated.count >= Self.maximumPlaces { self.separated = [:] }
        self.separated[place] = now.advanced(by: Self.memory)
    }

    /// Whether a link opens a socket of its own; `place` is called only when there is such a server.
    func isSeparated(_ place: @autoclosure () -> Place, now: Moment) -> Bool {
        guard !self.separated.isEmpty, let until = self.separated[place()] else { return false }
        return now < until
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
