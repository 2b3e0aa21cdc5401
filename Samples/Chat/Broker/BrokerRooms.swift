import Foundation
import Linkspan
import LinkspanBrokers
import LinkspanNetwork
import LinkspanWebSocket

/// The chat over a broker, which knows no rooms: translates what the features say to a server into messages of the broker, as
/// PROTOCOL.md describes, and answers in the server's place.
///
/// Everything that depends on a broker is in this folder; the features are those for any other transport.
struct BrokerRooms: MessageProtocol {
    /// MQTT, whose broker keeps lines for those who come back soon.
    static let mqtt = Self(MQTTMessageProtocol(), separator: "/", usesStream: false)
    /// NATS, whose stream keeps lines for everybody.
    static let nats = Self(NATSMessageProtocol(), separator: ".", usesStream: true)

    /// The interval between two looks for absent people and missed lines.
    private static let tick = Duration.milliseconds(200)
    /// The number of ticks between two beats of somebody present.
    static let beat = 10

    var broker: any MessageProtocol
    let separator: Character
    let usesStream: Bool
    var session = Session()

    struct Session: Sendable {
        /// Tells the signs of this link from those of others.
        var id = ""
        var name = ""
        var rooms: [String: Room] = [:]
        /// The topics of the rooms; none of a room until a sign of a member brings it.
        var topics: [String: RoomTopic] = [:] { didSet { self.writtenTopics = Self.written(self.topics) } }
        private(set) var writtenTopics = "{}"
        /// The rooms of the lines that the broker has not acknowledged, by delivery.
        var lines: [UInt64: String] = [:]
        /// The private messages that nobody has answered.
        var directs: Set<UInt64> = []
        /// Those that wait until it is known who is there.
        var earlyDirects: [EncodedDelivery] = []
        var stream = Stream()
        var (ticks, time) = (0, Duration.zero)
        /// Events and replies for the features, and bytes for the broker.
        var (news, output): ([Envelope], [UInt8]) = ([], [])

        private static func written(_ topics: [String: RoomTopic]) -> String {
            (try? Payload(topics)).map { String(decoding: $0.elements, as: UTF8.self) } ?? "{}"
        }
    }

    struct Room: Sendable {
        /// The tick of the entry.
        var entered = 0
        var seen: ChatVocabulary.Seen?
        /// The number of the last line that was read; nil until the place to begin at is known.
        var position: Int?
        /// True while the position in the stream is requested, or the next line.
        var isReading = true
        /// True if a sign announced another line meanwhile.
        var isRung = false
        /// Those present, by link: their names and the ticks of their last beats.
        var people: [String: (name: String, tick: Int)] = [:]
        /// Unanswered requests for the members of the room.
        var questions: [UInt64] = []
    }

    private init(_ broker: any MessageProtocol, separator: Character, usesStream: Bool) {
        (self.broker, self.separator, self.usesStream) = (broker, separator, usesStream)
    }

    static func == (one: Self, other: Self) -> Bool { AnyHashable(one.broker) == AnyHashable(other.broker) }

    func hash(into hasher: inout Hasher) { hasher.combine(AnyHashable(self.broker)) }
}

// MARK: - The session

extension BrokerRooms {
    var name: String { self.broker.name }
    var subprotocols: [String] { self.broker.subprotocols }

    /// The topics in a line, so that they outlive a loss of the links of all who know them, and what the broker needs.
    var resumption: Secret? {
        Secret("\(self.session.writtenTopics)\n\(self.broker.resumption?.exposed ?? "")")
    }

    var isReady: Bool { self.broker.state?.isReady == true }

    /// Never a continued session: the members are requested over each link.
    var info: LinkInfo {
        var info = self.broker.info
        info.isContinuous = false
        return info
    }

    /// Ready when the broker is and the place in each room is known: of what is said from then on nothing is missed.
    var state: SessionState? {
        var state = self.broker.state ?? SessionState()
        guard state.isReady else { return state }
        let next = self.session.news.isEmpty ? self.session.time + Self.tick : .zero
        state.deadline = state.deadline.map { min($0, next) } ?? next
        let hasStream = !self.usesStream || self.session.stream.numbering != nil
        state.isReady = hasStream && self.session.rooms.values.allSatisfy { $0.position != nil }
        return state
    }

    mutating func begin(_ start: SessionStart) throws(LinkspanError) -> [WebSocketMessage] {
        guard let entry = try start.credentials.auth?.decode(ChatVocabulary.Entry.self),
            (entry.rooms + [entry.name]).allSatisfy({ (1...64).contains($0.unicodeScalars.count) })
        else { throw LinkspanError(.credentialsRefused, "names and rooms have 1 to 64 characters") }
        self.session.id = String(UInt64.random(in: .min ... .max), radix: 36)
        self.session.name = entry.name
        for room in entry.rooms {
            let seen = entry.seen?[room].map { ChatVocabulary.Seen(seq: $0, numbering: entry.numbering?[room]) }
            self.session.rooms[room] = Room(seen: seen)
        }
        var start = start
        start.credentials.auth = nil
        if let former = start.resumption?.exposed.split(separator: "\n", maxSplits: 1), let topics = former.first {
            let topics = try? Payload(checking: Array(topics.utf8)[...]).decode([String: RoomTopic].self)
            self.session.topics = (topics ?? [:]).filter { entry.rooms.contains($0.key) }
            start.resumption = former.count > 1 ? Secret(String(former[1])) : nil
        }
        return try self.broker.begin(start)
    }

    /// Subscribes to what is for us, and enters the rooms of the credentials, once the broker is ready.
    mutating func enter() throws(LinkspanError) {
        try self.subscribe(to: self.event("direct", self.session.name))
        if self.usesStream { try self.ask(.stream) }
        for room in self.session.rooms.keys.sorted() {
            try self.enter(room, isContinuous: self.broker.info.isContinuous)
        }
    }

    /// Enters a room; `isContinuous` says that the broker has kept what was said since the former link.
    mutating func enter(_ room: String, isContinuous: Bool = false) throws(LinkspanError) {
        try self.subscribe(to: self.event("signs", room))
        if !self.usesStream { try self.subscribe(to: self.event("rooms", room)) }
        try self.sign(.here, in: room, isQuestion: true)
        if self.usesStream {
            try self.startReading(room)
        } else if isContinuous {
            try self.arrive(in: room, at: self.session.rooms[room]?.seen?.seq ?? 0, isLossy: false)
        }
    }

    mutating func deadlinePassed(at time: Duration) throws(LinkspanError) -> DecodedEnvelope {
        var decoded = DecodedEnvelope()
        if let deadline = self.broker.state?.deadline, deadline <= time {
            decoded = try self.broker.deadlinePassed(at: time)
        }
        if time >= self.session.time + Self.tick {
            self.session.time = time
            self.session.ticks += 1
            if self.session.ticks.isMultiple(of: Self.beat) {
                for room in self.session.rooms.keys { try self.sign(.here, in: room) }
            }
            try self.lookAround()
        }
        return try self.translate(decoded)
    }

    mutating func end() -> [WebSocketMessage] {
        for room in self.session.rooms.keys { try? self.sign(.gone, in: room) }
        return self.takeOutput() + self.broker.end()
    }
}

// MARK: - Output

extension BrokerRooms {
    /// The subject or topic of a room or person, whose name may have any characters.
    func event(_ kind: String, _ label: String) -> String {
        let escaped = label.addingPercentEncoding(withAllowedCharacters: Self.plain) ?? ""
        return ["chat", kind, escaped].joined(separator: String(self.separator))
    }

    private static let plain = CharacterSet(
        charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")

    mutating func subscribe(to event: String) throws(LinkspanError) {
        let messages: [WebSocketMessage] = try self.broker.subscribe(to: event)
        for case .binary(let bytes) in messages { self.session.output += bytes }
    }

    mutating func send(
        _ event: String, _ content: some Encodable & Sendable, id: UInt64? = nil
    ) throws(LinkspanError) {
        let payload = try Payload(content)
        _ = try self.broker.encode(.event(name: event, payload: payload, id: id), to: &self.session.output)
    }

    /// Publishes a sign to the others in a room.
    mutating func sign(_ kind: RoomSign.Kind, in room: String, isQuestion: Bool? = nil) throws(LinkspanError) {
        let sign = RoomSign(
            kind: kind, room: room, by: self.session.id, name: self.session.name, isQuestion: isQuestion,
            topic: self.session.topics[room]?.text, topicNumber: self.session.topics[room]?.number)
        try self.send(self.event("signs", room), sign)
    }

    mutating func tell(_ event: String, _ content: some Encodable & Sendable) throws(LinkspanError) {
        self.session.news.append(.event(name: event, payload: try Payload(content), id: nil))
    }

    mutating func answer(_ id: UInt64?, _ answer: ChatVocabulary.Answer) throws(LinkspanError) {
        if let id { self.session.news.append(.reply(id: id, payload: try Payload(answer))) }
    }

    mutating func takeOutput() -> [WebSocketMessage] {
        defer { self.session.output = [] }
        return self.session.output.isEmpty ? [] : [.binary(self.session.output[...])]
    }
}

/// A message between the members of a room that is not a line.
struct RoomSign: Codable, Sendable {
    enum Kind: String, Codable {
        case here, gone, typing, topic
        /// The stream has another line.
        case line
    }

    var kind: Kind
    var room: String
    /// The link of the sender, of whom there may be several.
    var by: String
    var name: String
    /// True if the others are to answer with a sign `here`.
    var isQuestion: Bool?
    /// The topic of the room; nil as long as the sender does not know it.
    var topic: String?
    /// The number of the topic.
    var topicNumber: Int?
}

/// The topic of a room.
struct RoomTopic: Codable, Sendable {
    /// Empty for none.
    var text: String
    /// Counts the topics of the room.
    var number: Int

    /// Whether it counts as set after another one.
    ///
    /// Of two with the same number that is the one with the greater text, so that all members choose the same.
    func isLater(than other: Self?) -> Bool {
        other.map { (self.number, self.text) > ($0.number, $0.text) } ?? true
    }
}

/// A line as the broker has it.
struct BrokerLine: Codable, Sendable {
    var room: String
    var from: String
    var text: String
    var id: String
}
