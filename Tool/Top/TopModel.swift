import Linkspan

/// What an inspector has told: batches of its feed go in, rows for a screen are made of it.
struct TopModel: Sendable {
    /// A connection.
    struct Row: Sendable, Hashable, Encodable {
        var id: Int
        var endpoint: String
        var transport: String
        var state: String
        var why: String
        var nextAttempt: Int?
        var roundTrip: Double?
        var waiting: Int
        var inFlight: Int
        var messages: Int
        /// Messages a second, between the last two batches that had the row.
        var rate: Double
        var time: Int
    }

    /// A service of the program.
    struct Service: Sendable, Encodable {
        var path: String
        var state: String
        var lost: Int
    }

    /// The order of the connections.
    enum Order: String, CaseIterable, Sendable {
        case state, rate, waiting, endpoint
    }

    /// The numbers that are taken, since the server chooses them: sums, differences and tenths must not overflow.
    private static let numbers = -1_000_000_000_000_000...1_000_000_000_000_000

    private(set) var rows: [Int: Row] = [:]
    private(set) var services: [String: Service] = [:]
    private(set) var sent = 0
    private(set) var received = 0
    private(set) var failed = 0
    private(set) var memory = 0
    /// The points of the last minutes: messages a second.
    private(set) var rates: [Double] = []
    private(set) var roundTrips: [Double?] = []
    /// The inspector's time in milliseconds, and when it was heard.
    private(set) var now = 0
    private(set) var heard: ContinuousClock.Instant?
    /// The key of the session, for coming back.
    private(set) var session: String?
    var order = Order.state
    var selected: Int?

    /// The most points that are kept.
    static let points = 240

    /// Takes a message of the feed.
    mutating func take(_ message: PayloadValue, at time: ContinuousClock.Instant) {
        if let hello = message["hello"] {
            // A feed begins with everything.
            (self.rows, self.services, self.rates, self.roundTrips) = ([:], [:], [], [])
            self.session = hello["session"]?.string ?? self.session
            return
        }
        guard let now = Self.number(message["now"]) else { return }
        (self.now, self.heard) = (now, time)
        for value in message["connections"]?.elements ?? [] { self.take(row: value) }
        for id in message["gone"]?.elements ?? [] { if let id = id.int { self.rows[id] = nil } }
        for value in message["services"]?.elements ?? [] {
            guard let path = value["path"]?.string else { continue }
            self.services[path] = Service(
                path: path, state: value["state"]?.string ?? "", lost: Self.count(value["lost"]) ?? 0)
        }
        for path in message["goneServices"]?.elements ?? [] {
            if let path = path.string { self.services[path] = nil }
        }
        for point in message["points"]?.elements ?? [] {
            self.rates.append(Double(Self.messages(point)))
            self.roundTrips.append(Self.measure(point["roundTrip"]))
        }
        self.rates.removeFirst(max(0, self.rates.count - Self.points))
        self.roundTrips.removeFirst(max(0, self.roundTrips.count - Self.points))
        let totals = message["totals"]
        self.sent = Self.count(totals?["sent"]) ?? self.sent
        self.received = Self.count(totals?["received"]) ?? self.received
        self.failed = Self.count(totals?["failed"]) ?? self.failed
        self.memory = Self.count(totals?["memory"]) ?? self.memory
    }

    private mutating func take(row value: PayloadValue) {
        guard let id = value["id"]?.int else { return }
        let messages = Self.messages(value)
        let former = self.rows[id]
        let seconds = former.map { Double(self.now - $0.time) / 1_000 } ?? 0
        let rate = former.map { seconds > 0.05 ? Double(messages - $0.messages) / seconds : $0.rate } ?? 0
        self.rows[id] = Row(
            id: id, endpoint: Self.text(value["endpoint"]), transport: Self.text(value["transport"]),
            state: Self.text(value["state"]), why: Self.text(value["why"]),
            nextAttempt: Self.number(value["nextAttempt"]), roundTrip: Self.measure(value["roundTrip"]),
            waiting: Self.count(value["waiting"]) ?? 0, inFlight: Self.count(value["inFlight"]) ?? 0,
            messages: messages, rate: rate, time: self.now)
    }

    private static func number(_ value: PayloadValue?) -> Int? {
        value?.int.map { min(max($0, Self.numbers.lowerBound), Self.numbers.upperBound) }
    }

    private static func count(_ value: PayloadValue?) -> Int? { Self.number(value).map { max(0, $0) } }

    private static func measure(_ value: PayloadValue?) -> Double? {
        guard let measure = value?.double, !measure.isNaN else { return nil }
        return min(max(0, measure), Double(Self.numbers.upperBound))
    }

    private static func messages(_ value: PayloadValue) -> Int {
        (Self.count(value["sent"]) ?? 0) + (Self.count(value["received"]) ?? 0)
    }

    /// A text that cannot change the terminal, whatever it holds.
    private static func text(_ value: PayloadValue?) -> String { ForeignText.shown(value?.string ?? "") }

    /// The messages that wait on all connections.
    var waiting: Int { self.rows.values.reduce(0) { min($0 + $1.waiting, Self.numbers.upperBound) } }

    /// The connections in their order; those that are not up come first.
    var sorted: [Row] {
        self.rows.values.sorted { one, two in
            switch self.order {
            case .state where (one.state == "connected") != (two.state == "connected"):
                return one.state != "connected"
            case .rate where one.rate != two.rate: return one.rate > two.rate
            case .waiting where one.waiting != two.waiting: return one.waiting > two.waiting
            case .endpoint where one.endpoint != two.endpoint: return one.endpoint < two.endpoint
            case .state, .rate, .waiting, .endpoint: return one.id < two.id
            }
        }
    }

    /// Moves the selection by so many rows.
    mutating func select(by step: Int) {
        let ids = self.sorted.map(\.id)
        guard !ids.isEmpty else { return }
        let place = self.selected.flatMap { ids.firstIndex(of: $0) }
        self.selected = ids[min(max(0, (place ?? (step > 0 ? -1 : ids.count)) + step), ids.count - 1)]
    }
}
