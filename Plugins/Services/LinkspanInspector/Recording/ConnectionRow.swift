internal import Linkspan
internal import LinkspanMessaging

/// The facts about one connection, as the inspector shows them; times are milliseconds of the recording.
struct ConnectionRow: Sendable, Equatable, Encodable {
    /// The credentials of a connection: their age and their next renewal, and nothing of their content.
    struct CredentialFacts: Sendable, Equatable, Encodable {
        /// The time at which they were obtained.
        var obtained: Int64?
        /// The time at which they expire.
        var expiry: Int64?
        /// The time of their next renewal.
        var nextRenewal: Int64?
        /// The latest failure to obtain them, since they last were obtained.
        var failure: String?
        /// Whether the server no longer accepts the user.
        var isRevoked = false
    }

    /// The values of the snapshot that any thread can read.
    struct Snapshot: Sendable, Equatable, Encodable {
        var endpoint: String
        var carrier: String?
        var state: String
        var progress: String
        /// The attempt that is under way or next.
        var attempt: Int?
        var nextAttempt: Int64?
        var error: String?
        var waiting: Int
        /// The store's summary of its contents.
        var outbox: String?
        /// The number of deliveries in the store that have no outcome.
        var outboxCount: Int?
        var roundTrip: Double?
        /// The words of `explain`, which age with each look.
        var why: String
    }

    /// The values that the connection's executor reports.
    struct Report: Sendable, Equatable, Encodable {
        var transport = ""
        var isReadingPaused = false
        var inFlight = 0
        /// The time at which the oldest command without an outcome was made, at the latest.
        var oldest: Int64?
        /// The number of that command.
        var oldestCommand: Command.ID?
        /// The longest time to a reply among the sampled ones of the latest look.
        var reply: Double?
        /// The time that the executor took to answer.
        var turn = 0.0

        private enum CodingKeys: String, CodingKey {
            case transport, isReadingPaused = "paused", inFlight, oldest, reply, turn
        }
    }

    let id: UInt64
    var holders = 0
    var snapshot: Snapshot?
    var report = Report()
    var counts = ConnectionMeter.Counts()
    var credentials = CredentialFacts()

    /// Whether anything but ages differs.
    func differs(from other: Self) -> Bool {
        var (one, two) = (self, other)
        one.snapshot?.why = ""
        two.snapshot?.why = ""
        (one.report.turn, two.report.turn) = (0, 0)
        return one != two
    }

    private enum Key: CodingKey { case id, holders, credentials }

    /// Writes one object with the members of all parts.
    func encode(to encoder: any Encoder) throws {
        var row = encoder.container(keyedBy: Key.self)
        try row.encode(self.id, forKey: .id)
        try row.encode(self.holders, forKey: .holders)
        try self.snapshot?.encode(to: encoder)
        try self.report.encode(to: encoder)
        try self.counts.encode(to: encoder)
        try row.encode(self.credentials, forKey: .credentials)
    }
}

extension ConnectionRow.Snapshot {
    init(_ status: ConnectionStatus, explanation: String, _ milliseconds: (ContinuousClock.Instant) -> Int64) {
        self.endpoint = status.url.description
        self.state = "\(status.state)"
        self.carrier = status.link?.facts["carrier"].map { ForeignText.line($0, limit: 64) }
        self.roundTrip = status.link?.roundTrip?.milliseconds
        self.waiting = status.waitingCommands
        self.outbox = status.store.map { ForeignText.line($0, limit: 500) }
        self.outboxCount = status.storedDeliveries
        self.error = status.lastError.map { ForeignText.line($0.code.rawValue, limit: 64) }
        self.why = ForeignText.line(explanation, limit: 1_000)
        switch status.progress {
        case .idle: self.progress = "idle"
        case .obtainingCredentials(let attempt): (self.progress, self.attempt) = ("credentials", attempt)
        case .opening(let attempt): (self.progress, self.attempt) = ("opening", attempt)
        case .open: self.progress = "open"
        case .suspended: self.progress = "suspended"
        case .waiting(let until, let attempt):
            (self.progress, self.attempt, self.nextAttempt) = ("waiting", attempt, milliseconds(until))
        }
    }
}
