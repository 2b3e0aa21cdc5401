internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanWebSocket
internal import Testing

@testable import chat

/// The rooms over a broker, as a value, against replies of the test's own.
@Suite
struct BrokerRoomsTests {
    /// Begins a session with these credentials.
    private static func begin(_ rooms: BrokerRooms, _ entry: ChatVocabulary.Entry) throws -> BrokerRooms {
        var rooms = rooms
        let credentials = Credentials(auth: try Payload(entry))
        _ = try rooms.begin(SessionStart(credentials: credentials, url: try ConnectionURL("ws://broker.example")))
        return rooms
    }

    /// Hands bytes of the broker to the session; returns the events for the features.
    private static func receive(_ bytes: [UInt8], by rooms: inout BrokerRooms) throws -> [String] {
        try rooms.decode(binary: bytes[...]).envelopes.map {
            guard case .event(let name, let payload, _) = $0 else { return "reply" }
            return "\(name) \(String(decoding: payload.elements, as: UTF8.self))"
        }
    }

    // MARK: NATS

    /// Somebody whose server has taken the credentials.
    private static func greeted(_ entry: ChatVocabulary.Entry) throws -> BrokerRooms {
        var rooms = try Self.begin(.nats, entry)
        let greeting = #"INFO {"server_id":"S","client_id":5}"# + "\r\nPONG\r\n"
        _ = try Self.receive(Array(greeting.utf8), by: &rooms)
        return rooms
    }

    /// Answers the question with this number, from 1.
    private static func answer(_ question: Int, _ json: String, by rooms: inout BrokerRooms) throws -> [String] {
        let subject = "_INBOX.S.5.\(UInt64(1) << 63 + UInt64(question))"
        return try self.receive(Array("MSG \(subject) 1 \(json.utf8.count)\r\n\(json)\r\n".utf8), by: &rooms)
    }

    @Test
    func `the link is open once the last line of the room is known, so that no later one is missed`() throws {
        var rooms = try Self.greeted(.init(name: "bob", rooms: ["lobby"]))
        #expect(rooms.state?.isReady == false)
        #expect(try Self.answer(1, #"{"created":"t","state":{"first_seq":1}}"#, by: &rooms).isEmpty)
        // The stream has no leader yet, which would say where the room stands.
        #expect(rooms.state?.isReady == false)
        let news = try Self.answer(2, #"{"message":{"seq":7}}"#, by: &rooms)
        #expect(news == [#"room {"room":"lobby","seq":7,"numbering":"t"}"#])
        #expect(rooms.state?.isReady == true)
    }

    @Test
    func `for somebody who comes back the link is open as soon as the stream is known`() throws {
        let entry = ChatVocabulary.Entry(name: "bob", rooms: ["lobby"], seen: ["lobby": 3], numbering: ["lobby": "t"])
        var rooms = try Self.greeted(entry)
        #expect(rooms.state?.isReady == false)
        let news = try Self.answer(1, #"{"created":"t","state":{"first_seq":1}}"#, by: &rooms)
        #expect(news == [#"room {"room":"lobby","seq":3,"numbering":"t"}"#])
        #expect(rooms.state?.isReady == true)
    }

    @Test
    func `of two who make the stream one succeeds, and both take its description as the numbering`() throws {
        var rooms = try Self.greeted(.init(name: "bob", rooms: ["lobby"]))
        _ = try Self.answer(1, #"{"error":{"code":404}}"#, by: &rooms)
        _ = try Self.answer(2, #"{"error":{"code":400,"err_code":10058}}"#, by: &rooms)
        _ = try Self.answer(3, #"{"config":{"description":"ann's"},"created":"t"}"#, by: &rooms)
        let news = try Self.answer(4, #"{"error":{"code":404}}"#, by: &rooms)
        #expect(news == [#"room {"room":"lobby","seq":0,"numbering":"ann's"}"#])
    }

    // MARK: MQTT

    /// Hands a message of a topic to the session.
    private static func publish(_ topic: String, _ json: String, to rooms: inout BrokerRooms) throws -> [String] {
        let body = [0, UInt8(topic.utf8.count)] + Array(topic.utf8) + [0] + Array(json.utf8)
        let packet = [0x30, UInt8(body.count & 0x7F | 0x80), UInt8(body.count >> 7)] + body
        return try Self.receive(packet, by: &rooms)
    }

    @Test
    func `over MQTT the link is open once one's own sign has come back, behind which no line is missed`() throws {
        var rooms = try Self.begin(.mqtt, .init(name: "bob", rooms: ["lobby"]))
        // CONNACK.
        _ = try rooms.decode(binary: [0x20, 3, 0, 0, 0])
        #expect(rooms.state?.isReady == false)
        let line = #"{"room":"lobby","from":"ann","text":"hi","id":"a1"}"#
        #expect(try Self.publish("chat/rooms/lobby", line, to: &rooms).isEmpty)
        let sign = #"{"kind":"here","room":"lobby","by":"\#(rooms.session.id)","name":"bob"}"#
        let news = try Self.publish("chat/signs/lobby", sign, to: &rooms)
        #expect(news == [#"room {"room":"lobby","seq":0}"#])
        #expect(rooms.state?.isReady == true)
        #expect(try Self.publish("chat/rooms/lobby", line, to: &rooms).count == 1)
        // Those of later beats change nothing.
        #expect(try Self.publish("chat/signs/lobby", sign, to: &rooms).isEmpty)
    }
}
