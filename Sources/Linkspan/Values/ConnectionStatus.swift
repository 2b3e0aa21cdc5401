internal import LinkspanRuntime

/// A snapshot of a connection: its state, activity and backlog.
///
/// For a status line, a bug report or a decision. It holds no payload and no credential; ``description`` leaves out the
/// query of the URL, too.
public struct ConnectionStatus: Sendable {
    /// The endpoint.
    public var url: ConnectionURL
    /// The account of the ``CredentialSource``; nil without one.
    public var account: String?
    /// What the attempts have published.
    ///
    /// A fact of theirs is a field there, filled in `Attempts.facts`; what follows from ``history`` needs none.
    var facts: ConnectionFacts
    /// The open link; nil while there is none.
    public var link: LinkInfo?
    /// Commands that wait to be sent or, for deliveries, to be answered.
    public var waitingCommands = 0
    /// The time at which anything last came from the server, heartbeats included; nil before that.
    public var lastHeard: ContinuousClock.Instant?
    /// The summary that the ``DeliveryStore`` gives of its contents.
    package var store: String?
    /// The number of deliveries that the ``DeliveryStore`` keeps, if it counts them.
    package var storedDeliveries: Int?
    /// The token with which a later process resumes this session through
    /// ``ConnectionBuilder/WithTransport/resuming(_:)``; nil when there is no session that its server can resume.
    public var resumption: Secret?
    /// The number of messages that interceptors have dropped, in both directions.
    package var droppedMessages = 0
    /// The newest changes of state, the oldest first; at most 32.
    public var history: [StateChange] = []
    /// The time of this snapshot.
    package var time = ContinuousClock.now

    /// The state.
    public var state: ConnectionState {
        get { self.facts.state }
        set { self.facts.state = newValue }
    }

    /// The activity inside the state.
    public var progress: ConnectionProgress {
        get { self.facts.progress }
        set { self.facts.progress = newValue }
    }

    /// The newest failure since the connection was last up.
    public var lastError: LinkspanError? {
        get { self.facts.lastError }
        set { self.facts.lastError = newValue }
    }

    /// The endpoint of the link, of the attempt that goes on or of the next one: ``url``, or one of
    /// ``ConnectionOptions/endpoints``.
    public var endpoint: ConnectionURL { self.facts.place?.url ?? self.url }

    /// The number of changes that are remembered.
    static let historyLimit = 32

    /// One sentence on what is, one on why, one on what happens next.
    var sentences: [String] {
        [self.whatIs, self.choice, self.liveness, self.why, self.whatNext, self.store].compactMap { $0 }
    }

    private var whatIs: String {
        switch self.state {
        case .created where self.progress == .idle:
            "The connection to \(self.url) has not been started."
        case .created: "The connection to \(self.url) is being opened for the first time."
        case .connected: "The connection to \(self.url) is up."
        case .disconnected where self.progress == .suspended: "The connection to \(self.url) is suspended."
        case .disconnected: "The connection to \(self.url) is down and is not retried."
        case .reconnecting: "The connection to \(self.url) is down and is being restored."
        case .released: "The connection to \(self.url) was released and cannot be used again."
        }
    }

    /// The endpoint in use, of a connection with several.
    private var choice: String? {
        guard let place = self.facts.place, self.state != .released else { return nil }
        let verb = self.state == .connected ? "It uses" : "The next attempt goes to"
        let which = "\(verb) endpoint \(place.number) of \(place.count), \(place.url) (\(place.policy))"
        switch self.state {
        case .connected:
            guard let returns = place.returns else { return "\(which)." }
            return
                "\(which), and returns to \(place.first) in \(Self.seconds(self.time.duration(to: returns.instant)))."
        case .created, .disconnected, .reconnecting, .released:
            return "\(which)."
        }
    }

    /// The distance to the server, of a connection that is up.
    private var liveness: String? {
        guard self.state == .connected, let lastHeard = self.lastHeard else { return nil }
        let heard = "The server was last heard \(Self.seconds(lastHeard.duration(to: self.time))) ago"
        guard let roundTrip = self.link?.roundTrip else { return "\(heard)." }
        return "\(heard); a round trip takes \(Int((roundTrip / .milliseconds(1)).rounded(.up))) ms."
    }

    private var why: String? {
        switch self.state {
        case .connected, .released: return nil
        case .created, .disconnected, .reconnecting: ()
        }
        // Of a connection that stays down the last change says why: there may have been failures before it.
        if self.state == .disconnected, case .requested? = self.history.last?.reason {
            return "The app disconnected it."
        }
        if let error = self.lastError {
            return "The reason: \(ForeignText.line(error.message)) (\(ForeignText.line(error.code.rawValue)))."
        }
        guard self.state == .reconnecting, case .requested? = self.history.last?.reason else { return nil }
        return "The app called connect()."
    }

    private var whatNext: String? {
        let sentences = [self.next, self.queue, self.drops].compactMap { $0 }
        return self.state == .released || sentences.isEmpty ? nil : sentences.joined(separator: " ")
    }

    private var next: String? {
        switch self.progress {
        case .open: return nil
        case .idle where self.state == .disconnected && self.lastError?.code == .credentialsRefused:
            return self.afterRefusal
        case .idle where self.state == .disconnected && self.isRefusedForGood:
            return "Another attempt with the same settings cannot succeed; connect() makes one."
        case .suspended: return "An attempt starts when the app comes to the foreground, or with connect()."
        case .idle: return "connect() starts an attempt."
        case .obtainingCredentials(let attempt): return "Attempt \(attempt) waits for credentials."
        case .opening(let attempt): return "Attempt \(attempt) is under way."
        case .waiting(let until, let attempt):
            return "Attempt \(attempt) begins in \(Self.seconds(self.time.duration(to: until)))."
        }
    }

    private var isRefusedForGood: Bool {
        if case .failed(let error)? = self.history.last?.reason { return error.isPermanent }
        return self.history.isEmpty && self.lastError?.isPermanent == true
    }

    private var queue: String? {
        guard self.waitingCommands > 0 else { return nil }
        return "\(self.waitingCommands) \(self.waitingCommands == 1 ? "command waits" : "commands wait")."
    }

    private var drops: String? {
        guard self.droppedMessages > 0 else { return nil }
        return "Interceptors dropped \(self.droppedMessages) \(self.droppedMessages == 1 ? "message" : "messages")."
    }

    private static func seconds(_ duration: Duration) -> String {
        // A retry policy may ask for any wait.
        let tenths = Int64(min(max(0, (duration / .milliseconds(100)).rounded()), 1e15))
        return "\(tenths / 10).\(tenths % 10) s"
    }
}

extension ConnectionStatus {
    /// Makes a status, for implementations of ``Connection``; the other properties can be set afterwards.
    public init(url: ConnectionURL, state: ConnectionState, progress: ConnectionProgress = .idle) {
        self.init(url: url, facts: ConnectionFacts(state: state, progress: progress))
    }
}

extension ConnectionStatus: CustomStringConvertible {
    /// All that is known, as text for a bug report: the sentences and the changes of state.
    ///
    /// It holds names and times, and no payload, credential or query.
    public var description: String {
        var lines = [
            self.sentences.joined(separator: " "), "State: \(self.state)", "Changes, the newest last:",
        ]
        lines += self.history.isEmpty ? ["  none"] : self.historyLines
        return lines.joined(separator: "\n")
    }

    private var historyLines: [String] {
        self.history.map { change in
            let error = change.reason.error.map {
                ": \(ForeignText.line($0.code.rawValue)), \(ForeignText.line($0.message))"
            }
            let mark: String? =
                switch change.continuity {
                case .continuous: ", session resumed"
                case .gap: ", session new"
                case nil: nil
                }
            return "  \(self.age(of: change.time)): \(change.from) -> \(change.to)"
                + "\(error ?? mark ?? "")"
        }
    }

    private func age(of time: ContinuousClock.Instant) -> String { "\(Self.seconds(time.duration(to: self.time))) ago" }
}
