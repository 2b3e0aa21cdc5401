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

        /// Describes a will.
        public init(_ event: String, _ payload: Payload, isRetained: Bool = false) {
            self.event = event
            self.payload = payload
            self.isRetained = isRetained
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
    private static var aliases: UInt16 { 64 }

    /// Sends `CONNECT`.
    public mutating func begin(_ start: SessionStart) throws(LinkspanError) -> [WebSocketMessage] {
        self.session.follow(start.resumption)
        if let id = self.clientID { self.session.clientID = id }
        // 3.1.1 needs a clean session without a client identifier. With MQTT 5, mosquitto does not persist a session that began with
        // a clean start.
        let isClean = !self.isV5 && self.session.clientID.isEmpty
        let given = start.credentials.auth?[0]
        let (user, password) = (given?["username"]?.string, given?["password"]?.string)
        var flags: UInt8 = isClean ? 0x02 : 0
        if user != nil { flags |= 0x80 }
        if password != nil { flags |= 0x40 }
        if let will = self.will { flags |= 0x04 | 0x08 | (will.isRetained ? 0x20 : 0) }
        var writer = MQTTWriter(isV5: self.isV5)
        try writer.text("MQTT")
        writer.byte(self.version.rawValue)
        writer.byte(flags)
        writer.number(UInt16(clamping: self.keepAlive.components.seconds))
        try writer.properties { writer throws(LinkspanError) in
            writer.byte(0x11)
            writer.long(UInt32(clamping: self.sessionExpiry.components.seconds))
            writer.byte(0x27)
            writer.long(UInt32(MQTTPacket.largest))
            writer.byte(0x22)
            writer.number(Self.aliases)
            if let method = self.authenticationMethod { try Self.append(method, given, to: &writer) }
            for (name, value) in self.userProperties.sorted(by: { $0.key < $1.key }) {
                try writer.userProperty(name, value)
            }
        }
        try writer.text(self.session.clientID)
        if let will = self.will {
            try writer.properties()
            try MQTTTopic.check(will.event, isForSending: true)
            try writer.text(will.event)
            try writer.data(try BrokerPayload.encode(will.payload).content)
        }
        if let user { try writer.text(user) }
        if let password { try writer.text(password) }
        return [.binary(writer.packet(.connect)[...])]
    }

    private static func append(
        _ method: String, _ given: PayloadValue?, to writer: inout MQTTWriter
    ) throws(LinkspanError) {
        writer.byte(0x15)
        try writer.text(method)
        guard let data = given?["data"]?.string else { return }
        writer.byte(0x16)
        try writer.data(data.utf8)
    }

    /// Ready when the broker has accepted the session, full when it has as many deliveries as it takes at a time.
    public var state: SessionState? {
        SessionState(
            isReady: self.session.isReady, isFull: self.session.deliveries.count >= self.session.limits.receiveMaximum,
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
        self.session.heartbeat.isAwaited = true
        self.session.heartbeat.due = time + self.interval
        return DecodedEnvelope(answers: [.binary(MQTTWriter(isV5: self.isV5).packet(.pingreq)[...])])
    }

    /// The interval of heartbeats; zero for none.
    private var interval: Duration { self.session.limits.keepAlive ?? self.keepAlive }

    /// Shows renewed credentials by `AUTH`, with an authentication method.
    public mutating func renew(_ credentials: Credentials) throws(LinkspanError) -> [WebSocketMessage]? {
        guard self.isV5, let method = self.authenticationMethod else { return nil }
        var writer = MQTTWriter(isV5: self.isV5)
        writer.byte(0x19)
        try writer.properties { writer throws(LinkspanError) in
            try Self.append(method, credentials.auth?[0], to: &writer)
        }
        return [.binary(writer.packet(.auth)[...])]
    }

    /// Sends `DISCONNECT`, after which the broker sends no will.
    public mutating func end() -> [WebSocketMessage] { [.binary(MQTTWriter(isV5: self.isV5).packet(.disconnect)[...])] }

    /// The broker has answered `CONNECT`.
    private mutating func accept(_ packet: inout MQTTPacket) throws(LinkspanError) {
        guard !self.session.isReady else { throw MQTTPacket.violation("CONNACK came twice") }
        let isPresent = try packet.byte() & 1 == 1
        let reason = try packet.byte()
        let properties = self.isV5 && !packet.isAtEnd ? try packet.properties() : MQTTProperties()
        if let error = MQTTReason.error(reason, isV5: self.isV5, of: "CONNECT", properties.reason) { throw error }
        if let id = properties.assignedClientID { self.session.clientID = id }
        self.session.limits.take(properties)
        self.session.info.sessionID = self.session.clientID
        self.session.info.isContinuous = isPresent && self.session.isResuming
        self.session.isKept = properties.sessionExpiry.map { $0 > 0 } ?? (self.sessionExpiry > .zero)
        self.session.info.facts["broker"] = self.isV5 ? "MQTT 5.0" : "MQTT 3.1.1"
        self.session.isReady = true
        self.session.writeResumption()
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
        [.binary(try self.subscription(to: event)[...])]
    }

    private mutating func subscription(to event: String) throws(LinkspanError) -> [UInt8] {
        try MQTTTopic.check(event, isForSending: false)
        let number = try self.session.nextPacket()
        let (id, isNew) = self.session.subscriptions.add(event)
        if isNew { self.session.writeResumption() }
        var writer = MQTTWriter(isV5: self.isV5)
        writer.number(number)
        try writer.properties { writer throws(LinkspanError) in
            writer.byte(0x0B)
            writer.variable(Int(id))
        }
        try writer.text(event)
        // Quality 1; of kept messages only those that a former subscription has not brought (section 3.8.3.1).
        writer.byte(self.isV5 ? 0x11 : 0x01)
        self.session.packets[number] = .subscription(event)
        return writer.packet(.subscribe, flags: 2)
    }

    /// Ends a subscription.
    public mutating func unsubscribe(from event: String) -> [WebSocketMessage] {
        guard self.session.subscriptions.remove(event) else { return [] }
        if MQTTTopic.isFilter(event) { self.session.writeResumption() }
        var writer = MQTTWriter(isV5: self.isV5)
        do throws(LinkspanError) {
            let number = try self.session.nextPacket()
            writer.number(number)
            try writer.properties()
            try writer.text(event)
            self.session.packets[number] = .subscription(event)
        } catch {
            // What still comes has no listener.
            return []
        }
        return [.binary(writer.packet(.unsubscribe, flags: 2)[...])]
    }
}

// MARK: - Messages out

extension MQTTMessageProtocol {
    /// Appends a message of quality 0, a request or the reply to a question.
    public mutating func encode(
        _ envelope: consuming Envelope, to buffer: inout [UInt8]
    ) throws(LinkspanError) -> EncodedKind {
        switch consume envelope {
        case .event(let name, let payload, let id):
            guard id == nil || self.isV5 else {
                throw LinkspanError(.encodingFailed, "requests need MQTT 5.0; '\(name)' was to be sent over 3.1.1")
            }
            let correlation = id.map { Array("\($0)".utf8)[...] }
            try self.publish(
                name, payload, response: id.map { _ in self.responseTopic }, correlation: correlation, to: &buffer)
        case .reply(let id, let payload):
            let (topic, correlation) = try self.session.questions.take(id)
            try self.publish(topic, payload, correlation: correlation, to: &buffer)
        }
        return .selfContained
    }

    /// Appends a message of quality 1.
    public mutating func encode(
        delivery: EncodedDelivery, to buffer: inout [UInt8]
    ) throws(LinkspanError) -> EncodedKind {
        // On one link a message goes out once (section 4.4); the acknowledgement is still to come.
        guard self.session.deliveries[delivery.id] == nil else { return .nothing }
        let packet = try self.session.nextPacket()
        try self.publish(
            delivery.event, delivery.payload, packet: packet, isRepeated: delivery.isRepeated, key: delivery.key,
            to: &buffer)
        self.session.packets[packet] = .delivery(delivery.id)
        self.session.deliveries[delivery.id] = packet
        return .selfContained
    }

    private var responseTopic: String { "linkspan/replies/\(self.session.clientID)" }

    private mutating func publish(
        _ topic: String, _ payload: Payload, packet: UInt16? = nil, isRepeated: Bool = false, key: String? = nil,
        response: String? = nil, correlation: ArraySlice<UInt8>? = nil, to buffer: inout [UInt8]
    ) throws(LinkspanError) {
        try MQTTTopic.check(topic, isForSending: true)
        let (content, count) = try BrokerPayload.encode(payload)
        let (alias, isNew) = self.alias(for: topic)
        var writer = MQTTWriter(isV5: self.isV5)
        try writer.text(alias != nil && !isNew ? "" : topic)
        if let packet { writer.number(packet) }
        try writer.properties { writer throws(LinkspanError) in
            if let alias {
                writer.byte(0x23)
                writer.number(alias)
            }
            if let response {
                writer.byte(0x08)
                try writer.text(response)
            }
            if let correlation {
                writer.byte(0x09)
                try writer.data(correlation)
            }
            if let count { try writer.userProperty("arguments", "\(count)") }
            if let key { try writer.userProperty("key", key) }
        }
        writer.bytes(content)
        let quality: UInt8 = packet == nil ? 0 : 2
        let isRetained = self.retainedEvents.contains(topic)
        let bytes = writer.packet(.publish, flags: quality | (isRepeated ? 8 : 0) | (isRetained ? 1 : 0))
        guard bytes.count <= self.session.limits.largestPacket else {
            throw LinkspanError(
                .messageTooLarge,
                "'\(topic)' makes a packet of \(bytes.count) bytes; the broker takes \(self.session.limits.largestPacket)"
            )
        }
        if let alias, isNew { self.session.aliases.outgoing[topic] = alias }
        // For replies, before the first request.
        if let response, !self.session.subscriptions.contains(response) {
            buffer += try self.subscription(to: response)
        }
        buffer += bytes
    }

    /// The number that stands for a topic, as far as the broker knows such numbers.
    private func alias(for topic: String) -> (number: UInt16?, isNew: Bool) {
        if let known = self.session.aliases.outgoing[topic] { return (known, false) }
        let next = UInt16(self.session.aliases.outgoing.count + 1)
        return next <= self.session.limits.aliasMaximum ? (next, true) : (nil, false)
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
        var (envelopes, answers): ([Envelope], [UInt8]) = ([], [])
        var failures: [DecodedEnvelope.Failure] = []
        while var packet = try MQTTPacket.next(&self.session.feed) {
            guard self.session.isReady || [.connack, .auth, .disconnect].contains(packet.kind) else {
                throw MQTTPacket.violation("\(packet.kind) came before CONNACK")
            }
            switch packet.kind {
            case .connack: try self.accept(&packet)
            case .publish: answers += try self.receive(&packet, &envelopes)
            case .puback: try self.acknowledge(&packet, &envelopes, &failures)
            case .suback, .unsuback: try self.confirm(&packet, &failures)
            case .pingresp: self.session.heartbeat.isAwaited = false
            case .disconnect:
                throw try packet.failure(of: "the session")
                    ?? LinkspanError(.connectionLost, "the broker has ended the session")
            case .auth:
                let reason = packet.isAtEnd ? 0 : try packet.byte()
                guard reason == 0 else {
                    throw LinkspanError(.unsupported, "the broker asks for a further step of authentication")
                }
            default: throw MQTTPacket.violation("\(packet.kind) comes from no broker")
            }
            try ByteFeed.check(envelopes.count + failures.count)
        }
        return DecodedEnvelope(
            envelopes, answers: answers.isEmpty ? [] : [.binary(answers[...])], failures: failures)
    }

    /// Takes a message; one of quality 1 is acknowledged at once.
    ///
    /// - Returns: the acknowledgement.
    private mutating func receive(
        _ packet: inout MQTTPacket, _ envelopes: inout [Envelope]
    ) throws(LinkspanError) -> [UInt8] {
        let quality = packet.flags >> 1 & 3
        guard quality < 2 else { throw MQTTPacket.violation("a message has quality \(quality), not 0 or 1") }
        var topic = try packet.text()
        let number = quality == 1 ? try packet.number() : nil
        let properties = self.isV5 ? try packet.properties() : MQTTProperties()
        if let alias = properties.topicAlias {
            guard (1...Self.aliases).contains(alias) else {
                throw MQTTPacket.violation("topic alias \(alias) is not from 1 to \(Self.aliases)")
            }
            if !topic.isEmpty { self.session.aliases.incoming[alias] = topic }
            topic = self.session.aliases.incoming[alias] ?? ""
        }
        guard !topic.isEmpty else { throw MQTTPacket.violation("a message has no topic") }
        let payload = BrokerPayload.decode(packet.rest(), isList: properties.isList)
        if topic == self.responseTopic, let correlation = properties.correlation {
            let id = UInt64(String(decoding: correlation, as: UTF8.self))
            if let id { envelopes.append(.reply(id: id, payload: payload)) }
        } else {
            for event in self.session.subscriptions.events(for: topic, properties.subscriptions) {
                let correlation = properties.correlation.map { Array($0)[...] }
                let id = properties.responseTopic.map { self.session.questions.add(($0, correlation)) }
                envelopes.append(
                    .event(name: event, payload: MQTTTopic.isFilter(event) ? payload.naming(topic) : payload, id: id))
            }
        }
        guard let number else { return [] }
        var writer = MQTTWriter(isV5: self.isV5)
        writer.number(number)
        return writer.packet(.puback)
    }

    private mutating func acknowledge(
        _ packet: inout MQTTPacket, _ envelopes: inout [Envelope], _ failures: inout [DecodedEnvelope.Failure]
    ) throws(LinkspanError) {
        let number = try packet.number()
        let failure = try packet.failure(of: "a delivery")
        guard case .delivery(let id)? = self.session.packets.removeValue(forKey: number) else { return }
        self.session.deliveries[id] = nil
        if var error = failure {
            if error.code != .serverUnavailable { error.code = .messageRefused }
            failures.append(.init(id: id, error))
        } else {
            envelopes.append(.reply(id: id, payload: .empty))
        }
    }

    private mutating func confirm(
        _ packet: inout MQTTPacket, _ failures: inout [DecodedEnvelope.Failure]
    ) throws(LinkspanError) {
        guard case .subscription(let filter)? = self.session.packets.removeValue(forKey: try packet.number()) else {
            return
        }
        let properties = self.isV5 ? try packet.properties() : MQTTProperties()
        // An UNSUBACK of 3.1.1 has no code.
        guard !packet.isAtEnd, case let reason = try packet.byte(), reason >= 0x80 else { return }
        let what = "the subscription to '\(ForeignText.line(filter))'"
        if var error = MQTTReason.error(reason, isV5: true, of: what, properties.reason) {
            error.code = .refused
            failures.append(.init(error))
        }
    }
}

extension MessageProtocol where Self == MQTTMessageProtocol {
    /// MQTT 5.0 with the defaults.
    public static var mqtt: Self { Self() }
}
