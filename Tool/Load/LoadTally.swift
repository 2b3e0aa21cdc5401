import Linkspan
import LinkspanRuntime

/// Everything that a load has counted.
struct LoadTally: Sendable {
    /// A second of the run, or what is left of the last one.
    struct Second: Codable, Sendable {
        var time: Double
        var open: Int
        var sent: Int
        var received: Int
        /// The times of the second in milliseconds: of requests and of messages that came back.
        var p50: Double
        var p99: Double
    }

    /// The times of requests and of messages that came back.
    struct Times: Sendable {
        var request = LatencyHistogram()
        var delivery = LatencyHistogram()
    }

    var connect = LatencyHistogram()
    var reconnect = LatencyHistogram()
    /// How late messages left, after the time at which they were due.
    var lateness = LatencyHistogram()
    var open = 0
    var failedClients = 0
    var sent = 0
    var received = 0
    /// Requests that have no outcome yet.
    var underWay = 0
    /// Received messages with a number that was never given.
    var strange = 0
    var errors: [String: Int] = [:]
    var book: SequenceBook
    /// The receivers that connected.
    var receivers: [Int] = []
    private(set) var seconds: [Second] = []
    /// Those of the seconds that have ended, and of the present one: each time is recorded once.
    private var past = Times()
    private var recent = Times()
    private var counted = (sent: 0, received: 0)
    /// The events that each receiver has got, and the latest one.
    private var heard: [(latest: String, all: Set<String>)]

    init(clients: Int, namespaces: Int) {
        self.book = SequenceBook(clients * namespaces, namespaces: namespaces)
        self.heard = Array(repeating: ("", []), count: clients * namespaces)
    }

    /// Notes an event; true for the first of its name at that receiver.
    mutating func hears(_ event: String, at receiver: Int) -> Bool {
        // Mostly it is the same again, for which no set is searched.
        guard self.heard[receiver].latest != event else { return false }
        self.heard[receiver].latest = event
        return self.heard[receiver].all.insert(event).inserted
    }

    /// Counts a failure, by what it says.
    mutating func fail(_ error: LinkspanError) {
        let text = "\(error.code.rawValue): \(error.message)"
        // As many kinds as a report can show.
        self.errors[self.errors.count < 20 || self.errors[text] != nil ? text : "others", default: 0] += 1
    }

    /// Takes a message with a stamp, `now` after the beginning.
    mutating func receive(_ stamp: MessageStamp, at receiver: Int, now: Int64) {
        guard self.book.receive(stamp.number, of: stamp.sender, at: receiver) else { return self.strange += 1 }
        self.recent.delivery.record(now - stamp.time)
    }

    /// Takes an answer.
    mutating func answer(after time: Int64, _ stamp: MessageStamp) {
        self.received += 1
        self.recent.request.record(time)
        self.book.acknowledge(stamp.number, of: stamp.sender)
    }

    /// All times up to now.
    var times: Times {
        Times(
            request: self.past.request + self.recent.request, delivery: self.past.delivery + self.recent.delivery)
    }

    /// Ends a second of the time line.
    mutating func endSecond(at time: Int64) {
        let both = self.recent.request + self.recent.delivery
        self.seconds.append(
            Second(
                time: Double(time) / 1e9, open: self.open, sent: self.sent - self.counted.sent,
                received: self.received - self.counted.received, p50: both.quantile(0.5).milliseconds,
                p99: both.quantile(0.99).milliseconds))
        self.counted = (self.sent, self.received)
        (self.past, self.recent) = (self.times, Times())
    }
}
