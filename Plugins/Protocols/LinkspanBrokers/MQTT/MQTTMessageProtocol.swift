public import Linkspan
public import LinkspanNetwork
public import LinkspanWebSocket

/// MQTT over WebSocket: events are messages on topics, of a broker that speaks MQTT 5.0 or 3.1.1 (OASIS standards).
///
/// | here | there |
/// | --- | --- |
/// | the name of an event | the topic |
/// | a listener | a subscription of quality 1, to the topic or by a filter; then the last argument of an event is its topic |
/// | `send` | `PUBLISH` of quality 0: at most once |
/// | `request` | `PUBLISH` with a response topic and correlation data (version 5) |
/// | `deliver` | `PUBLISH` of quality 1: at least once |
/// | the credentials' auth payload | its fields `username` and `password` of `CONNECT`, and `data` of `AUTH` |
/// | a resumed session | *session present*, for the same client identifier |
///
/// One argument is the content of a message; several are a JSON array, which the user property `arguments` marks (version 5).
public struct MQTTMessageProtocol: MessageProtocol {
    /// A version of MQTT.
    public enum Version: UInt8, Sendable, Hashable {
        /// MQTT 3.1.1, without requests and properties.
        case v3 = 4
        /// MQTT 5.0.
        case v5 = 5
    }

    /// A message that the broker sends when the session ends in any other way than by closing the connection.
    public struct Will: Sendable, Hashable {
        /// The topic.
        public var event: String
        /// The content.
        public var payload: Payload
        /// A retained will: the broker stores it and sends it to each later subscriber (section 3.1.2.7).
        public var isRetained: Bool
        /// The time that the client has to come back before the broker sends the will (version 5; at most 136 years).
        public var delay: Duration

        /// Describes a will.
        public init(_ event: String, _ payload: Payload, isRetained: Bool = false, delay: Duration = .zero) {
            (self.event, self.payload, self.isRetained, self.delay) = (event, payload, isRetained, delay)
        }
    }

    /// `mqtt`.
    public let name = "mqtt"
    /// `mqtt`, which the standard asks for.
    public let subprotocols = ["mqtt"]
    /// The version (default 5).
    public var version = Version.v5
    /// The client identifier (default nil: the broker chooses one).
    ///
    /// With one of its own a process goes on with the session of the former process.
    public var clientID: String?
    /// The time for which the broker keeps the session of a lost link (default 5 min; at most 136 years).
    public var sessionExpiry = Duration.seconds(300)
    /// The interval of heartbeats (default 30 s, at most 18 h); the broker may ask for another.
    public var keepAlive = Duration.seconds(30)
    /// The events whose last message the broker keeps for later listeners (default none).
    public var retainedEvents: Set<String> = []
    /// The broker's message when the session is lost (default nil: none).
    public var will: Will?
    /// User properties of `CONNECT` (default none).
    public var userProperties: [String: String] = [:]
    /// The name of the method by which renewed credentials are shown, by `AUTH` (default nil: they are for the next link).
    public var authenticationMethod: String?

    private var session = MQTTSession()
    private var isV5: Bool { self.version == .v5 }

    /// The defaults named at the properties, changed by `configure`.
    public init(_ configure: (inout Self) -> Void = { _ in }) { configure(&self) }
}

// MARK: - The session

extension MQTTMessageProtocol {
    /// The number of topics that the broker may replace by a number, which `CONNECT` says.
    private static var aliases: UInt32 { 64 }

    private func packet(_ kind: MQTTPacket.Kind, flags: UInt8 = 0) -> MQTTPacket {
        MQTTPacket(kind, flags: flags, isV5: self.isV5)
    }

    /// Sends `CONNECT`.
    public mutating func begin(_ start: SessionStart) throws(LinkspanError) -> [WebSocketMessage] {
        self.session.follow(start.resumption)
        if let id = self.clientID { self.session.clientID = id }
        // 3.1.1 needs a clean session without a client identifier, and keeps any other for ever. With MQTT 5, mosquitto does not
        // persist a session that began with a clean start.
        let isClean = !self.isV5 && (self.session.clientID.isEmpty || self.sessionExpiry <= .zero)
        let given = start.credentials.auth?[0]
        let (user, password) = (given?["username"]?.string, given?["password"]?.string)
        let flags: [(UInt32, Bool)] = [
            (0x02, isClean), (0x0C, self.will != nil), (0x20, self.will?.isRetained == true), (0x40, password != nil),
            (0x80, user != nil),
        ]
        var packet = self.packet(.connect)
        try packet.append("MQTT")
        packet.append(UInt32(self.version.rawValue), bytes: 1)
        packet.append(flags.reduce(0) { $1.1 ? $0 | $1.0 : $0 }, bytes: 1)
        // The next full second, before which no heartbeat is sent.
        let keepAlive = (self.keepAlive + .nanoseconds(999_999_999)).components.seconds
        packet.append(UInt32(UInt16(clamping: keepAlive)), bytes: 2)
        var properties = self.authentication(given)
        properties.numbers[.sessionExpiry] = UInt32(clamping: self.sessionExpiry.components.seconds)
        properties.numbers[.largestPacket] = UInt32(clamping: min(MQTTPacket.largest, start.maximumMessageBytes))
        properties.numbers[.aliasMaximum] = Self.aliases
        properties.user = self.userProperties
        try packet.append(properties)
        try packet.append(self.session.clientID)
        if let will = self.will {
            try MQTTTopic.check(will.event, isForSending: true)
            let (content, count) = try BrokerPayload.encode(will.payload)
            let delay = UInt32(clamping: will.delay.components.seconds)
            var properties = MQTTProperties(numbers: delay > 0 ? [.willDelay: delay] : [:])
            properties.user["arguments"] = count.map { "\($0)" }
            try packet.append(properties)
            try packet.append(will.event)
            try packet.append(content)
        }
        if let user { try packet.append(user) }
        // Bytes of any kind (section 3.1.3.6).
        if let password { try packet.append(password.utf8) }
        return [.binary(packet.whole)]
    }

    /// The properties that show credentials, with an authentication method.
    private func authentication(_ given: PayloadValue?) -> MQTTProperties {
        guard let method = self.authenticationMethod else { return MQTTProperties() }
        var properties = MQTTProperties(data: [.authenticationMethod: Array(method.utf8)[...]])
        properties.data[.authenticationData] = given?["data"]?.string.map { Array($0.utf8)[...] }
        return properties
    }

    /// Ready when the broker has accepted the session, full when it has as many deliveries as it takes at a time.
    public var state: SessionState? {
        let most = self.session.terms?.numbers[.receiveMaximum] ?? 65_535
        return SessionState(
            isReady: self.session.terms != nil, isFull: self.session.deliveries.count >= most,
            deadline: self.session.heartbeat.due)
    }

    /// The client identifier, and whether the broker has gone on with the former session.
    public var info: LinkInfo { self.session.info }

    /// The client identifier, when the broker keeps the session for a while.
    public var resumption: Secret? { self.session.resumption }

    /// Sends a heartbeat, or finds that the last one was not answered.
    public mutating func deadlinePassed(at time: Duration) throws(LinkspanError) -> DecodedEnvelope {
        guard !self.session.heartbeat.isAwaited else {
            throw LinkspanError(.heartbeatMissed, "the broker has not answered a heartbeat for \(self.interval)")
        }
        self.session.heartbeat = (time + self.interval, true)
        return DecodedEnvelope(answers: [.binary(self.packet(.pingreq).whole)])
    }

    /// The interval of heartbeats; zero for none.
    private var interval: Duration { self.session.terms?.numbers[.keepAlive].map { .seconds($0) } ?? self.keepAlive }

    /// Shows renewed credentials by `AUTH`, with an authentication method.
    public mutating func renew(_ credentials: Credentials) throws(LinkspanError) -> [WebSocketMessage]? {
        guard self.isV5, self.authenticationMethod != nil else { return nil }
        var packet = self.packet(.auth)
        // To authenticate again.
        packet.append(0x19, bytes: 1)
        try packet.append(self.authentication(credentials.auth?[0]))
        return [.binary(packet.whole)]
    }

    /// Sends `DISCONNECT`, after which the broker sends no will.
    public mutating func end() -> [WebSocketMessage] { [.binary(self.packet(.disconnect).whole)] }

    /// The broker has answered `CONNECT`.
    private mutating func accept(_ packet: inout MQTTPacket) throws(LinkspanError) {
        guard self.session.terms == nil else { throw MQTTPacket.violation("CONNACK came twice") }
        let isPresent = try packet.byte() & 1 == 1
        guard !packet.isAtEnd else { throw MQTTPacket.violation("CONNACK has no reason") }
        let (error, terms) = try packet.outcome(of: "CONNECT")
        if let error { throw error }
        guard terms.numbers[.receiveMaximum] != 0, terms.numbers[.largestPacket] != 0 else {
            throw MQTTPacket.violation("the broker takes no message at all")
        }
        if let id = try terms.text(.clientID) { self.session.clientID = id }
        // A client identifier may have any characters.
        let name = self.session.clientID.replacing("+", with: "%2B").replacing("#", with: "%23")
        self.session.replies.topic = "linkspan/replies/\(name)"
        self.session.info.sessionID = self.session.clientID
        self.session.info.isContinuous = isPresent && self.session.isResuming
        if isPresent { self.session.replies.mark = "\(UInt64.random(in: 0...UInt64.max))-" }
        self.session.info.facts["broker"] = self.isV5 ? "MQTT 5.0" : "MQTT 3.1.1"
        self.session.terms = terms
        self.session.isKept = terms.numbers[.sessionExpiry].map { $0 > 0 } ?? (self.sessionExpiry > .zero)
        if self.interval > .zero { self.session.heartbeat.due = self.interval }
    }
}

// MARK: - Subscriptions

extension MQTTMessageProtocol {
    /// True.
    public var subscribes: Bool { true }

    /// True.
    public var sendsKeys: Bool { true }

    /// Subscribes to a topic, or to all that a filter stands for.
    public mutating func subscribe(to event: String) throws(LinkspanError) -> [WebSocketMessage] {
        [.binary(try self.subscription(to: event))]
    }

    private mutating func subscription(to event: String) throws(LinkspanError) -> ArraySlice<UInt8> {
        try MQTTTopic.check(event, isForSending: false)
        if MQTTTopic.isFilter(event) {
            try self.require(event.hasPrefix("$share/") ? .takesShares : .takesFilters, for: "filter '\(event)'")
            return try self.ask(.subscribe, event, self.session.filters.add(event))
        }
        self.session.topics.insert(event)
        return try self.ask(.subscribe, event, MQTTSession.topicNumber)
    }

    /// Refuses what the broker has said that it does not take; it would end the session because of it.
    private func require(_ term: MQTTProperty, for what: @autoclosure () -> String) throws(LinkspanError) {
        guard self.session.terms?.numbers[term] == 0 else { return }
        throw LinkspanError(.unsupported, "the broker takes no \(what())")
    }

    /// Ends a subscription.
    public mutating func unsubscribe(from event: String) -> [WebSocketMessage] {
        let isKnown = self.session.filters.remove(event) != nil || self.session.topics.remove(event) != nil
        // Without a packet, what still comes has no listener.
        guard isKnown, let packet = try? self.ask(.unsubscribe, event) else { return [] }
        return [.binary(packet)]
    }

    private mutating func ask(
        _ kind: MQTTPacket.Kind, _ event: String, _ number: UInt32? = nil
    ) throws(LinkspanError) -> ArraySlice<UInt8> {
        let id = try self.session.freePacket()
        var packet = self.packet(kind, flags: 2)
        packet.append(id, bytes: 2)
        let isNumbered = self.session.terms?.numbers[.takesNumbers] != 0
        try packet.append(MQTTProperties(subscriptions: number.flatMap { isNumbered ? [$0] : nil } ?? []))
        try packet.append(event)
        // Quality 1; of kept messages only those that a former subscription has not brought (section 3.8.3.1).
        if number != nil { packet.append(self.isV5 ? 0x11 : 0x01, bytes: 1) }
        self.session.unconfirmed[id] = .subscription(event)
        return packet.whole
    }
}

// MARK: - Messages out

extension MQTTMessageProtocol {
    /// Appends a message of quality 0, a request or the reply to a question.
    public mutating func encode(
        _ envelope: consuming Envelope, to buffer: inout [UInt8]
    ) throws(LinkspanError) -> EncodedKind {
        var properties = MQTTProperties()
        switch consume envelope {
        case .event(let name, let payload, nil): buffer += try self.message(name, payload, properties)
        case .event(let name, let payload, let id?):
            guard self.isV5 else {
                throw LinkspanError(.encodingFailed, "requests need MQTT 5.0; '\(name)' was to be sent over 3.1.1")
            }
            properties.data[.responseTopic] = Array(self.session.replies.topic.utf8)[...]
            properties.data[.correlation] = Array("\(self.session.replies.mark)\(id)".utf8)[...]
            let request = try self.message(name, payload, properties)
            // For replies, before the first request.
            if !self.session.topics.contains(self.session.replies.topic) {
                buffer += try self.subscription(to: self.session.replies.topic)
            }
            buffer += request
            self.session.requests.note(id, name)
        case .reply(let id, let payload):
            let (topic, correlation) = try self.session.questions.take(id)
            properties.data[.correlation] = correlation
            buffer += try self.message(topic, payload, properties)
        }
        return .selfContained
    }

    /// Appends a message of quality 1.
    public mutating func encode(
        delivery: EncodedDelivery, to buffer: inout [UInt8]
    ) throws(LinkspanError) -> EncodedKind {
        // On one link a message goes out once (section 4.4); the acknowledgement is still to come.
        guard self.session.deliveries[delivery.id] == nil else { return .nothing }
        let number = try self.session.freePacket()
        var properties = MQTTProperties()
        properties.user["key"] = delivery.key
        buffer += try self.message(
            delivery.event, delivery.payload, properties, flags: delivery.isRepeated ? 0x0A : 0x02, number: number)
        self.session.unconfirmed[number] = .delivery(delivery.id)
        self.session.deliveries[delivery.id] = number
        return .selfContained
    }

    /// A message, of quality 1 under the number of a packet, otherwise of quality 0.
    private mutating func message(
        _ topic: String, _ payload: Payload, _ properties: MQTTProperties, flags: UInt8 = 0, number: UInt32? = nil
    ) throws(LinkspanError) -> ArraySlice<UInt8> {
        try MQTTTopic.check(topic, isForSending: true)
        let (terms, isRetained) = (self.session.terms, self.retainedEvents.contains(topic))
        if isRetained { try self.require(.takesRetained, for: "retained message, as those of '\(topic)' are to be") }
        if number != nil { try self.require(.highestQuality, for: "delivery, which has quality 1") }
        let (content, count) = try BrokerPayload.encode(payload)
        let known = self.session.aliases.outgoing[topic]
        let next = UInt32(self.session.aliases.outgoing.count + 1)
        let isFree = next <= min(terms?.numbers[.aliasMaximum] ?? 0, 1_024)
        var properties = properties
        properties.numbers[.alias] = known ?? (isFree ? next : nil)
        properties.user["arguments"] = count.map { "\($0)" }
        var packet = self.packet(.publish, flags: flags | (isRetained ? 1 : 0))
        try packet.append(known == nil ? topic : "")
        if let number { packet.append(number, bytes: 2) }
        try packet.append(properties)
        packet.append(content: content)
        let bytes = packet.whole
        let most = Int(terms?.numbers[.largestPacket] ?? UInt32(MQTTPacket.largest))
        guard bytes.count <= most else {
            throw LinkspanError(
                .messageTooLarge, "'\(topic)' makes a packet of \(bytes.count) bytes; the broker takes \(most)")
        }
        self.session.aliases.outgoing[topic] = properties.numbers[.alias]
        return bytes
    }
}

// MARK: - Messages in

extension MQTTMessageProtocol {
    /// Refuses text, as the standard does (section 6).
    public mutating func decode(text: consuming ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
        throw MQTTPacket.violation("a text message came")
    }

    /// Takes a part of the stream.
    public mutating func decode(binary: consuming ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
        self.session.feed.append(binary)
        var outcome = Outcome()
        while var packet = try MQTTPacket.next(&self.session.feed, isV5: self.isV5) {
            guard self.session.terms != nil || [.connack, .auth, .disconnect].contains(packet.kind) else {
                throw MQTTPacket.violation("\(packet.kind) came before CONNACK")
            }
            switch packet.kind {
            case .connack: try self.accept(&packet)
            case .publish: try self.receive(&packet, &outcome)
            case .puback, .suback, .unsuback: try self.confirm(&packet, &outcome)
            case .pingresp: self.session.heartbeat.isAwaited = false
            case .disconnect:
                throw try packet.outcome(of: "the session").error
                    ?? LinkspanError(.connectionLost, "the broker has ended the session")
            case .auth where packet.isAtEnd: ()
            case .auth where try packet.byte() == 0: ()
            case .auth: throw LinkspanError(.unsupported, "the broker asks for a further step of authentication")
            default: throw MQTTPacket.violation("\(packet.kind) comes from no broker")
            }
            try outcome.check()
        }
        return outcome.decoded
    }

    /// Takes a message; one of quality 1 is acknowledged at once.
    private mutating func receive(_ packet: inout MQTTPacket, _ outcome: inout Outcome) throws(LinkspanError) {
        let quality = packet.flags >> 1 & 3
        guard quality < 2 else { throw MQTTPacket.violation("a message has quality \(quality), not 0 or 1") }
        var topic = try packet.text()
        let number = quality == 1 ? try packet.number(2) : nil
        let properties = try packet.properties()
        if let alias = properties.numbers[.alias] {
            guard (1...Self.aliases).contains(alias) else {
                throw MQTTPacket.violation("topic alias \(alias) is not from 1 to \(Self.aliases)")
            }
            if !topic.isEmpty { self.session.aliases.incoming[alias] = topic }
            topic = self.session.aliases.incoming[alias] ?? ""
        }
        guard !topic.isEmpty else { throw MQTTPacket.violation("a message has no topic") }
        let payload = BrokerPayload.decode(packet.body, isList: properties.user["arguments"] != nil)
        // A slice would keep the whole message of the WebSocket.
        let correlation = properties.data[.correlation].map { Array($0)[...] }
        if topic == self.session.replies.topic, let correlation {
            let (mark, text) = (self.session.replies.mark, String(decoding: correlation, as: UTF8.self))
            if text.hasPrefix(mark), let id = UInt64(text.dropFirst(mark.count)) { outcome.end(id, payload) }
        } else {
            let response = try properties.text(.responseTopic)
            for event in self.session.events(for: topic, properties.subscriptions) {
                let id = response.map { self.session.questions.add(($0, correlation)) }
                outcome.add(event, payload, from: topic, id: id)
            }
        }
        if let number {
            var packet = self.packet(.puback)
            packet.append(number, bytes: 2)
            outcome.answers += packet.whole
        }
    }

    /// Takes the broker's answer to a delivery or subscription.
    private mutating func confirm(_ packet: inout MQTTPacket, _ outcome: inout Outcome) throws(LinkspanError) {
        switch (packet.kind, self.session.unconfirmed.removeValue(forKey: try packet.number(2))) {
        case (.puback, .delivery(let id)):
            self.session.deliveries[id] = nil
            var error = try packet.outcome(of: "a delivery").error
            if error?.code != .serverUnavailable { error?.code = .messageRefused }
            outcome.end(id, error: error)
        case (.suback, .subscription(let event)), (.unsuback, .subscription(let event)):
            let text = try packet.properties().text(.reason)
            // An UNSUBACK of 3.1.1 has no code.
            guard !packet.isAtEnd else { return }
            let what = "the subscription to '\(ForeignText.line(event))'"
            // The codes of 3.1.1 are among those of version 5.
            guard var error = MQTTReason.error(try packet.byte(), isV5: true, of: what, text) else { return }
            error.code = .refused
            // Without the topic for replies nobody can answer.
            let isForReplies = event == self.session.replies.topic && self.session.topics.remove(event) != nil
            outcome.fail(isForReplies ? self.session.requests.take { _ in true } : [], error)
        default: ()
        }
    }
}

extension MessageProtocol where Self == MQTTMessageProtocol {
    /// MQTT 5.0 with the defaults.
    public static var mqtt: Self { Self() }
}
