internal import Linkspan

/// The state of one MQTT session; all states are equal, because protocols are compared by their configuration.
struct MQTTSession: Sendable, Hashable {
    static func == (_: Self, _: Self) -> Bool { true }
    func hash(into _: inout Hasher) {}

    /// A delivery or subscription that the broker has not acknowledged.
    enum Asked: Sendable {
        case delivery(UInt64)
        case subscription(String)
    }

    /// The broker's limits.
    struct Limits: Sendable {
        fileprivate(set) var keepAlive: Duration?
        fileprivate(set) var largestPacket = MQTTPacket.largest
        fileprivate(set) var receiveMaximum = 65_535
        fileprivate(set) var aliasMaximum: UInt16 = 0

        mutating func take(_ properties: MQTTProperties) {
            self.keepAlive = properties.serverKeepAlive.map { .seconds(Int($0)) }
            if let size = properties.largestPacket, size > 0 { self.largestPacket = Int(size) }
            if let count = properties.receiveMaximum, count > 0 { self.receiveMaximum = Int(count) }
            self.aliasMaximum = min(properties.topicAliasMaximum ?? 0, 1_024)
        }
    }

    var feed = ByteFeed()
    var isReady = false
    var clientID = ""
    var info = LinkInfo()
    private(set) var isResuming = false
    /// True if the session expiry interval is above zero: the broker stores the session after a lost link.
    var isKept = false
    private(set) var resumption: Secret?
    var limits = Limits()
    /// The time of the next heartbeat, and whether the last one waits for its answer.
    var heartbeat: (due: Duration?, isAwaited: Bool) = (nil, false)
    var subscriptions = MQTTSubscriptions()
    var packets: [UInt16: Asked] = [:]
    /// The packet identifiers of the deliveries that are under way.
    var deliveries: [UInt64: UInt16] = [:]
    private var lastPacket: UInt16 = 0
    var questions = Questions<(topic: String, correlation: ArraySlice<UInt8>?)>()
    /// The broker's topics by number, and ours.
    var aliases: (incoming: [UInt16: String], outgoing: [String: UInt16]) = ([:], [:])

    /// A packet identifier that is not in use.
    mutating func nextPacket() throws(LinkspanError) -> UInt16 {
        for _ in 0..<UInt16.max {
            self.lastPacket = self.lastPacket == .max ? 1 : self.lastPacket + 1
            if self.packets[self.lastPacket] == nil { return self.lastPacket }
        }
        throw LinkspanError(.encodingFailed, "65,535 messages wait for the broker's answer")
    }

    /// Goes on where a former session has left.
    mutating func follow(_ resumption: Secret?) {
        guard let lines = resumption?.exposed.split(separator: "\n"), let first = lines.first else { return }
        // Until the broker has answered, the next link goes on there, too.
        (self.isResuming, self.clientID, self.resumption) = (true, String(first), resumption)
        self.subscriptions = MQTTSubscriptions(lines.dropFirst())
    }

    /// Writes down what the next session needs.
    mutating func writeResumption() {
        guard self.isReady, self.isKept, !self.clientID.isEmpty else { return }
        self.resumption = Secret("\(self.clientID)\n\(self.subscriptions.lines)")
    }
}

/// The subscriptions; the broker marks messages for each filter by a number, and those for topics by one for all.
///
/// A broker sends the messages that it has kept before it gets the next link's subscriptions. So each link goes on with the numbers
/// of the former one.
struct MQTTSubscriptions: Sendable {
    /// The number of all subscriptions that are no filters.
    private static let ofTopics: UInt32 = 1

    private var last = Self.ofTopics
    private var topics: Set<String> = []
    private var numbers: [String: UInt32] = [:]
    private var filters: [UInt32: String] = [:]

    init() {}

    /// Reads ``lines``.
    init(_ lines: ArraySlice<Substring>) {
        self.last = lines.first.flatMap { UInt32($0) } ?? Self.ofTopics
        for line in lines.dropFirst() {
            let parts = line.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, let number = UInt32(parts[0]) else { continue }
            (self.numbers[String(parts[1])], self.filters[number]) = (number, String(parts[1]))
        }
    }

    /// The last number, and the filters with theirs.
    var lines: String { "\(self.last)\(self.numbers.map { "\n\($0.value) \($0.key)" }.sorted().joined())" }

    func contains(_ event: String) -> Bool { self.topics.contains(event) || self.numbers[event] != nil }

    /// Adds an event, if it is not there.
    ///
    /// - Returns: its number, and whether it is one of its own that was not there.
    mutating func add(_ event: String) -> (number: UInt32, isNew: Bool) {
        guard MQTTTopic.isFilter(event) else {
            self.topics.insert(event)
            return (Self.ofTopics, false)
        }
        if let known = self.numbers[event] { return (known, false) }
        // The highest number that there is (section 3.8.2.1.2).
        self.last = self.last >= 268_435_455 ? Self.ofTopics + 1 : self.last + 1
        (self.numbers[event], self.filters[self.last]) = (self.last, event)
        return (self.last, true)
    }

    /// Removes an event; false when it is not there.
    mutating func remove(_ event: String) -> Bool {
        guard let number = self.numbers.removeValue(forKey: event) else { return self.topics.remove(event) != nil }
        self.filters[number] = nil
        return true
    }

    /// The events that a message stands for.
    ///
    /// - Parameters:
    ///   - topic: its topic.
    ///   - marks: the numbers of the subscriptions that it comes for; none before version 5.
    /// - Returns: their names.
    func events(for topic: String, _ marks: [UInt32]) -> [String] {
        let marked = marks.compactMap { $0 == Self.ofTopics ? topic : self.filters[$0] }
        // Otherwise it is for a former process, whose numbers nobody has written down.
        if !marks.isEmpty, marked.count == marks.count, marked.allSatisfy({ MQTTTopic.matches($0, topic) }) {
            return Set(marked).sorted()
        }
        let filters = self.numbers.keys.filter { MQTTTopic.matches($0, topic) }
        return (filters.isEmpty || self.topics.contains(topic) ? [topic] : []) + filters.sorted()
    }
}

/// The rules of topics and filters (section 4.7).
enum MQTTTopic {
    static func isFilter(_ event: String) -> Bool {
        event.hasPrefix("$share/") || event.contains { $0 == "+" || $0 == "#" }
    }

    /// Refuses what is no topic, or for a listener no filter either.
    static func check(_ topic: String, isForSending: Bool) throws(LinkspanError) {
        let levels = topic.split(separator: "/", omittingEmptySubsequences: false)
        let isWrong =
            topic.isEmpty || topic.utf8.count > 65_535 || topic.utf8.contains { $0 < 0x20 }
            || levels.dropLast().contains("#") || levels.contains { $0.count > 1 && $0.contains { "+#".contains($0) } }
            || levels[0] == "$share" && (levels.count < 3 || levels[1].isEmpty)
        guard !isWrong, !isForSending || !Self.isFilter(topic) else {
            let name = ForeignText.line(topic)
            throw LinkspanError(.encodingFailed, "'\(name)' is no MQTT topic\(isForSending ? " to send to" : "")")
        }
    }

    /// Matches a topic against a topic filter (section 4.7).
    static func matches(_ filter: String, _ topic: String) -> Bool {
        var levels = filter.split(separator: "/", omittingEmptySubsequences: false)[...]
        if levels.first == "$share" { levels = levels.dropFirst(2) }
        let parts = topic.split(separator: "/", omittingEmptySubsequences: false)
        if topic.hasPrefix("$"), levels.first == "+" || levels.first == "#" { return false }
        for (index, level) in levels.enumerated() {
            if level == "#" { return true }
            guard index < parts.count, level == "+" || level == parts[index] else { return false }
        }
        return levels.count == parts.count
    }
}
