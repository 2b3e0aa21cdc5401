internal import Linkspan
internal import LinkspanMessaging

/// The facts about one connection, as the inspector shows them; times are instants, so that they age by themselves.
struct ConnectionRow: Sendable, Equatable {
    /// The credentials of a connection: their age and their next renewal, and nothing of their content.
    struct CredentialFacts: Sendable, Equatable {
        /// The time at which they were obtained.
        var obtained: ContinuousClock.Instant?
        /// The time at which they expire.
        var expiry: ContinuousClock.Instant?
        /// The time of their next renewal.
        var nextRenewal: ContinuousClock.Instant?
        /// The latest failure to obtain them, since they last were obtained.
        var failure: String?
        /// Whether the server no longer accepts the user.
        var isRevoked = false
    }

    /// The values of the snapshot that any thread can read.
    struct Snapshot: Sendable, Equatable {
        var endpoint: String
        var carrier: String?
        var state: String
        var progress: String
        /// The attempt that is under way or next.
        var attempt: Int?
        var nextAttempt: ContinuousClock.Instant?
        var lastError: String?
        var waiting: Int
        /// The store's summary of its contents.
        var outbox: String?
        /// The number of deliveries in the store that have no outcome.
        var outboxCount: Int?
        var roundTrip: Duration?
        /// The words of `explain`, which age with each look.
        var explanation: String
    }

    /// The values that the connection's executor reports.
    struct Report: Sendable, Equatable {
        var transport = ""
        var isReadingPaused = false
        var inFlight = 0
        /// The time at which the oldest command without an outcome was made, at the latest.
        var oldest: ContinuousClock.Instant?
        /// The longest time to a reply among the sampled ones of the latest look.
        var reply: Duration?
        /// The time that the executor took to answer.
        var turn = Duration.zero
    }

    let id: UInt64
    var holders = 0
    var snapshot: Snapshot?
    var report = Report()
    var counts = ConnectionMeter.Counts()
    var credentials = CredentialFacts()

    init(id: UInt64) { self.id = id }

    /// Whether anything but ages differs.
    func differs(from other: Self) -> Bool {
        var (one, two) = (self, other)
        one.snapshot?.explanation = ""
        two.snapshot?.explanation = ""
        (one.report.turn, two.report.turn) = (.zero, .zero)
        return one != two
    }
}

extension ConnectionRow.Snapshot {
    init(_ status: ConnectionStatus, explanation: String) {
        self.endpoint = status.url.description
        self.state = "\(status.state)"
        self.carrier = status.link?.facts["carrier"].map { ForeignText.line($0, limit: 64) }
        self.roundTrip = status.link?.roundTrip
        self.waiting = status.waitingCommands
        self.outbox = status.store.map { ForeignText.line($0, limit: 500) }
        self.outboxCount = status.storedDeliveries
        self.lastError = status.lastError.map { ForeignText.line($0.code.rawValue, limit: 64) }
        self.explanation = ForeignText.line(explanation, limit: 1_000)
        switch status.progress {
        case .idle: self.progress = "idle"
        case .obtainingCredentials(let attempt): (self.progress, self.attempt) = ("credentials", attempt)
        case .opening(let attempt): (self.progress, self.attempt) = ("opening", attempt)
        case .open: self.progress = "open"
        case .suspended: self.progress = "suspended"
        case .waiting(let until, let attempt):
            (self.progress, self.attempt, self.nextAttempt) = ("waiting", attempt, until)
        }
    }
}
