internal import Linkspan

/// The state of one MQTT session; all states are equal, because protocols are compared by their configuration.
struct MQTTSession: Sendable, Hashable {
    static func == (_: Self, _: Self) -> Bool { true }
    func hash(into _: inout Hasher) {}

    /// A delivery, or a topic or filter, that the broker has not acknowledged.
    enum Unconfirmed: Sendable {
        case delivery(UInt64)
        case subscription(String)
    }

    var feed = ByteFeed()
    /// The properties of the broker's acceptance, among them its limits; nil before it.
    var terms: MQTTProperties?
    var clientID = ""
    var info = LinkInfo()
    private(set) var isResuming = false
    /// Whether the broker has accepted the session and keeps it when the link is lost.
    var isKept = false { didSet { self.writeResumption() } }
    private(set) var resumption: Secret?
    /// The time of the next heartbeat, and whether the last one waits for its answer.
    var heartbeat: (due: Duration?, isAwaited: Bool) = (nil, false)
    var unconfirmed: [UInt32: Unconfirmed] = [:]
    /// The packet identifiers of the deliveries that are under way.
    var deliveries: [UInt64: UInt32] = [:]
    /// The topic for replies, and the beginning of their correlation data: in a session that goes on, replies to requests of
    /// former links may still come.
    var replies = (topic: "", mark: "")
    var requests = Asked()
    private var lastPacket: UInt32 = 0
    var topics: Set<String> = []
    var filters = Subscriptions() { didSet { self.writeResumption() } }
    var questions = Questions<(topic: String, correlation: ArraySlice<UInt8>?)>()
    /// The broker's topics by number, and ours.
    var aliases: (incoming: [UInt32: String], outgoing: [String: UInt32]) = ([:], [:])

    /// A packet identifier that is not in use.
    mutating func freePacket() throws(LinkspanError) -> UInt32 {
        for _ in 0..<UInt16.max {
            self.lastPacket = self.lastPacket % 65_535 + 1
            if self.unconfirmed[self.lastPacket] == nil { return self.lastPacket }
        }
        throw LinkspanError(.encodingFailed, "65,535 messages wait for the broker's answer")
    }

    /// Goes on where a former session has left.
    ///
    /// A broker sends the messages that it has kept before it gets the next link's subscriptions. So each link goes on with the
    /// numbers of the former one.
    mutating func follow(_ resumption: Secret?) {
        guard let lines = resumption?.exposed.split(separator: "\n"), let first = lines.first else { return }
        // Until the broker has answered, the next link goes on there, too.
        (self.isResuming, self.clientID, self.resumption) = (true, String(first), resumption)
        self.filters = Subscriptions(lines.dropFirst())
    }

    /// Writes down what the next session needs.
    private mutating func writeResumption() {
        guard self.isKept, !self.clientID.isEmpty else { return }
        self.resumption = Secret(([self.clientID] + self.filters.lines).joined(separator: "\n"))
    }

    /// The number of all subscriptions that are no filters.
    static let topicNumber: UInt32 = 1

    /// The events that a message stands for.
    ///
    /// - Parameters:
    ///   - topic: its topic.
    ///   - numbers: those of the subscriptions that it comes for; none before version 5.
    /// - Returns: their names.
    func events(for topic: String, _ numbers: [UInt32]) -> [String] {
        let numbered = numbers.compactMap { $0 == Self.topicNumber ? topic : self.filters[$0] }
        // Otherwise it is for a former process, whose numbers nobody has written down.
        if !numbers.isEmpty, numbered.count == numbers.count, numbered.allSatisfy({ MQTTTopic.matches($0, topic) }) {
            return Set(numbered).sorted()
        }
        let filters = self.filters.events.filter { MQTTTopic.matches($0, topic) }
        return (filters.isEmpty || self.topics.contains(topic) ? [topic] : []) + filters
    }
}
