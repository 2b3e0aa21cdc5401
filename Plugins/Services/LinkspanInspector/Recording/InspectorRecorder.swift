internal import DequeModule
internal import Linkspan
internal import LinkspanLifecycle
internal import LinkspanMessaging

/// The knowledge of the inspector, as a value: looks, events and samples go in, bounded batches come out.
///
/// It has no clock and calls nothing. It is bounded by ``Limits``, whatever the input.
struct InspectorRecorder: Sendable {
    /// The most that is kept, and the most that one batch has.
    struct Limits: Sendable {
        /// Connections that are shown; further ones are only counted.
        var connections = 4_096
        /// Services that are shown.
        var services = 1_024
        /// Latest events of the time line.
        var events = 2_048
        /// Latest sampled frames.
        var frames = 512
        /// Points of the charts, one for each second: an hour.
        var points = 3_600
        /// Rows of connections and services, events, frames and points in one batch.
        var batch = 200
    }

    /// An event of the time line.
    struct Event: Numbered, Encodable {
        var number: UInt64
        var time: Int64
        /// The connection that it is about.
        var connection: UInt64?
        /// The kind, for the colours of the time line.
        var kind: String
        var text: String
    }

    /// A message of the sample.
    struct Frame: Numbered, Encodable {
        var number: UInt64
        var connection: UInt64
        var time: Int64
        var event: String
        var bytes: Int
        var kind = ""
        /// The time that the reply took, if it is one.
        var roundTrip: Double?
        /// The code of the error, if the message failed.
        var code: String?
        /// The beginning of the arguments, without secrets, if configuration asks for it.
        var payload: String?
    }

    /// The sums of one second.
    struct Point: Numbered, Encodable {
        var number: UInt64 = 0
        var time: Int64
        var connections = 0
        var connected = 0
        /// The longest round trip; nil when nothing is connected, which is a gap in the chart.
        var roundTrip: Double?
        /// The longest time to a sampled reply; nil when none was sampled.
        var reply: Double?
        var sent: UInt64 = 0
        var received: UInt64 = 0
        var waiting = 0
        var inFlight = 0
        /// The deliveries of the fullest store; nil when no connection has one that counts them.
        var outbox: Int?
        var oldest: Int64 = 0
        var turn = 0.0
        var memory = 0
    }

    /// A row with the number of its latest change.
    struct Versioned<Row: Sendable>: Sendable {
        var row: Row
        var version: UInt64
        /// The time at which it was last handed to the pages because of its age alone.
        var renewed: ContinuousClock.Instant
    }

    /// The points of the charts, and the sums of the second that is not over.
    struct Chart: Sendable {
        fileprivate(set) var points: Deque<Point> = []
        fileprivate var pending: Point
        fileprivate var totals = ConnectionMeter.Counts()
    }

    /// The configuration of the app.
    struct Setup: Sendable {
        fileprivate(set) var settings: [InspectedSetting] = []
        fileprivate(set) var transports: [String] = []
        /// The number of its latest change.
        fileprivate(set) var version: UInt64 = 0
    }

    let limits: Limits
    /// The start of the recording.
    let epoch: ContinuousClock.Instant
    private(set) var connections: [UInt64: Versioned<ConnectionRow>] = [:]
    private(set) var services: [String: Versioned<ServiceRow>] = [:]
    private(set) var setup = Setup()
    private(set) var events: Deque<Event> = []
    private(set) var frames: Deque<Frame> = []
    private(set) var chart: Chart
    /// The messages of connections that are gone.
    private(set) var gone = ConnectionMeter.Counts()
    /// The connections that are not shown for want of room.
    private(set) var hidden = 0
    /// Numbers for changes, events, frames and points.
    private var last: UInt64 = 0
    /// Sampled messages, of all that there were.
    private(set) var sampled: UInt64 = 0
    /// The faults of each service, and those among them that were slow calls.
    private var faults: [String: (all: Int, slow: Int)] = [:]
    /// Numbers of commands with the time at which they were new, the oldest first.
    private var marks: Deque<(mark: Command.ID, time: ContinuousClock.Instant)> = []

    /// A row is handed out again after this time, since its words age.
    private static let renewal = Duration.seconds(5)

    init(limits: Limits = Limits(), now: ContinuousClock.Instant) {
        self.limits = limits
        self.epoch = now
        self.chart = Chart(pending: Point(time: 0))
    }

    private mutating func number() -> UInt64 {
        self.last += 1
        return self.last
    }

    /// A time in milliseconds of the recording.
    func milliseconds(_ time: ContinuousClock.Instant) -> Int64 { self.epoch.duration(to: time).wholeMilliseconds }

    /// The messages of all connections, exactly.
    var totals: ConnectionMeter.Counts { self.connections.values.reduce(into: self.gone) { $0.add($1.row.counts) } }

    /// The rows of the connections, by number.
    var connectionRows: [ConnectionRow] { self.connections.values.map(\.row).sorted { $0.id < $1.id } }

    /// The rows of the services, by path.
    var serviceRows: [ServiceRow] { self.services.values.map(\.row).sorted { $0.service.path < $1.service.path } }
}

// MARK: - Connections

extension InspectorRecorder {
    /// Forgets the connections that are not among the present ones, whose number is `count`.
    mutating func keep(_ present: Set<UInt64>, of count: Int) {
        for (id, entry) in self.connections where !present.contains(id) {
            self.gone.add(entry.row.counts)
            self.connections[id] = nil
        }
        self.hidden = max(0, count - self.limits.connections)
    }

    /// Takes a look at a connection.
    mutating func note(
        _ id: UInt64, _ status: ConnectionStatus, explanation: String, holders: Int, now: ContinuousClock.Instant
    ) {
        let snapshot = ConnectionRow.Snapshot(status, explanation: explanation) { self.milliseconds($0) }
        self.change(id, now: now) { row in
            row.holders = holders
            row.snapshot = snapshot
        }
    }

    /// Takes the report of the connection's executor.
    mutating func note(
        _ id: UInt64, _ reading: ConnectionReading, _ counts: ConnectionMeter.Counts?,
        _ frames: [ConnectionMeter.Frame], now: ContinuousClock.Instant
    ) {
        guard self.connections[id] != nil else { return }
        let oldest = reading.oldest.map { self.milliseconds(self.time(of: $0, now: now)) }
        let (renewal, turn) = (reading.nextRenewal.map { self.milliseconds($0) }, reading.turn.milliseconds)
        let sample = frames.map { self.frame($0, of: id) }
        let reply = sample.compactMap(\.roundTrip).max()
        if let reply { self.chart.pending.reply = max(self.chart.pending.reply ?? 0, reply) }
        self.chart.pending.turn = max(self.chart.pending.turn, turn)
        self.change(id, now: now) { row in
            row.credentials.nextRenewal = renewal
            // The time of one command is only narrowed down, so that its age does not jump.
            let former = row.report.oldestCommand == reading.oldest ? row.report.oldest : nil
            row.report = ConnectionRow.Report(
                transport: reading.transport, isReadingPaused: reading.isReadingPaused, inFlight: reading.inFlight,
                oldest: oldest.map { min($0, former ?? $0) }, oldestCommand: reading.oldest, reply: reply, turn: turn)
            if let counts { row.counts = counts }
        }
        for frame in sample { self.frames.append(frame, keeping: self.limits.frames) }
        self.sampled += UInt64(sample.count)
    }

    private mutating func frame(_ frame: ConnectionMeter.Frame, of id: UInt64) -> Frame {
        var shown = Frame(
            number: self.number(), connection: id, time: self.milliseconds(frame.time), event: frame.event,
            bytes: frame.bytes)
        switch frame.kind {
        case .sent: shown.kind = "sent"
        case .received: shown.kind = "received"
        case .answered(let time): (shown.kind, shown.roundTrip) = ("answered", time.milliseconds)
        case .failed(let code): (shown.kind, shown.code) = ("failed", ForeignText.line(code.rawValue, limit: 64))
        }
        if !frame.excerpt.isEmpty { shown.payload = Redaction.excerpt(frame.excerpt, of: frame.bytes) }
        return shown
    }

    /// Takes a step in the life of credentials.
    mutating func note(_ event: Stamped<ConnectionEvent>) {
        let id = event.event.connection
        guard self.connections[id] != nil else { return }
        let time = self.epoch.duration(to: event.time)
        self.change(id, now: event.time) { row in
            switch event.event.kind {
            case .credentialsObtained(let validFor), .credentialsRefreshed(let validFor, _):
                row.credentials = ConnectionRow.CredentialFacts(
                    obtained: time.wholeMilliseconds, expiry: validFor.map { (time + $0).wholeMilliseconds },
                    nextRenewal: row.credentials.nextRenewal)
            case .credentialsFailed(_, let reason, _):
                row.credentials.failure = ForeignText.line(reason, limit: 200)
            case .credentialsRevoked: row.credentials.isRevoked = true
            default: ()
            }
        }
    }

    private mutating func change(_ id: UInt64, now: ContinuousClock.Instant, _ body: (inout ConnectionRow) -> Void) {
        var entry = self.connections[id] ?? Versioned(row: ConnectionRow(id: id), version: 0, renewed: now)
        guard entry.version > 0 || self.connections.count < self.limits.connections else { return }
        let before = entry.row
        body(&entry.row)
        if entry.version == 0 || entry.row.differs(from: before) || entry.renewed.duration(to: now) >= Self.renewal {
            (entry.version, entry.renewed) = (self.number(), now)
        }
        self.connections[id] = entry
    }

    /// The time at which a command was made, at the latest.
    private func time(of command: Command.ID, now: ContinuousClock.Instant) -> ContinuousClock.Instant {
        self.marks.reversed().prefix { command.isBefore($0.mark) }.last?.time ?? now
    }
}

// MARK: - Services, configuration and events

extension InspectorRecorder {
    mutating func note(_ services: [InspectedService], now: ContinuousClock.Instant) {
        let shown = services.prefix(self.limits.services)
        let paths = Set(shown.map(\.path))
        for path in self.services.keys where !paths.contains(path) { self.services[path] = nil }
        for service in shown {
            let faults = self.faults[service.path] ?? (all: 0, slow: 0)
            let row = ServiceRow(service: service, faults: faults.all, slow: faults.slow)
            guard self.services[service.path]?.row != row else { continue }
            self.services[service.path] = Versioned(row: row, version: self.number(), renewed: now)
        }
    }

    mutating func note(_ settings: [InspectedSetting], transports: [String]) {
        self.setup = Setup(settings: settings, transports: transports, version: self.number())
    }

    /// Counts a fault of a service.
    mutating func note(_ fault: FaultEvent) {
        guard self.faults.count < self.limits.services || self.faults[fault.path] != nil else { return }
        self.faults[fault.path, default: (all: 0, slow: 0)].all += 1
        if fault.code == .limitHit { self.faults[fault.path]?.slow += 1 }
    }

    /// Adds an event to the time line.
    mutating func note(_ text: String, kind: String, connection: UInt64? = nil, at time: ContinuousClock.Instant) {
        let event = Event(
            number: self.number(), time: self.milliseconds(time), connection: connection, kind: kind, text: text)
        self.events.append(event, keeping: self.limits.events)
    }
}

// MARK: - Charts

extension InspectorRecorder {
    /// Closes the second that has passed: adds a point to the charts.
    mutating func closePoint(memory: Int, mark: Command.ID, now: ContinuousClock.Instant) {
        self.marks.append((mark, now), keeping: self.limits.points)
        let totals = self.totals
        var point = self.chart.pending
        (point.number, point.time, point.memory) = (self.number(), self.milliseconds(now), memory)
        point.sent = totals.sent &- self.chart.totals.sent
        point.received = totals.received &- self.chart.totals.received
        point.connections = self.connections.count + self.hidden
        for entry in self.connections.values {
            let (snapshot, report) = (entry.row.snapshot, entry.row.report)
            if snapshot?.state == "connected" {
                point.connected += 1
                if let roundTrip = snapshot?.roundTrip { point.roundTrip = max(point.roundTrip ?? 0, roundTrip) }
            }
            point.waiting += snapshot?.waiting ?? 0
            point.inFlight += report.inFlight
            // Several connections may have one store.
            if let outbox = snapshot?.outboxCount { point.outbox = max(point.outbox ?? 0, outbox) }
            if let oldest = report.oldest { point.oldest = max(point.oldest, point.time - oldest) }
        }
        self.chart.totals = totals
        self.chart.points.append(point, keeping: self.limits.points)
        self.chart.pending = Point(time: point.time)
    }
}

extension Deque {
    /// Appends an element, for which the oldest makes room beyond a limit.
    fileprivate mutating func append(_ element: Element, keeping limit: Int) {
        if self.count == limit { self.removeFirst() }
        self.append(element)
    }
}

extension ConnectionMeter.Counts {
    mutating func add(_ other: Self) {
        self.sent &+= other.sent
        self.sentBytes &+= other.sentBytes
        self.received &+= other.received
        self.receivedBytes &+= other.receivedBytes
        self.answered &+= other.answered
        self.failed &+= other.failed
    }
}

/// An element of a list that pages read on from a number.
protocol Numbered: Sendable {
    var number: UInt64 { get }
}
