@testable import Linkspan
internal import LinkspanTesting
internal import Testing

@Suite("Repeating deliveries")
struct RepeatTests {
    @Test
    func `a delivery that is not answered is sent again over the same link, under the same number`() throws {
        let harness = try Harness { _ in .perfect }
        try harness.enter(.connected)
        try harness.perform(.deliver(orderingKey: "room"), "a")
        try harness.perform(.deliver(orderingKey: "room"), "b")
        harness.scheduler.advance(by: .milliseconds(19_999))
        #expect(harness.arrived == ["a"])
        harness.scheduler.advance(by: .milliseconds(1))
        #expect(harness.arrived == ["a", "a"])
        #expect(Set(harness.transport.sent.compactMap(\.requestID)).count == 1)
        harness.peers.first?.reply(0)
        harness.scheduler.settle()
        #expect(harness.isSuccess("a"))
        #expect(harness.arrived == ["a", "a", "b"])
        harness.peers.first?.reply(0)
        harness.scheduler.settle()
        #expect(harness.connection.lateReplies == 1, "the reply to the repetition")
        #expect(harness.outcome("b") == nil)
    }

    /// A server that ends the link over one message, whenever it comes.
    private func poisonable(_ options: (inout ConnectionOptions) -> Void = { _ in }) throws -> Harness {
        let harness = try Harness(options: options, script: { _ in .perfect })
        harness.transport.onMessage { message in
            guard message.event == "poison" else { return message.reply() }
            message.peer.drop(LinkspanError(.messageRefused, "too large for this server"))
        }
        return harness
    }

    @Test
    func `a delivery that ends its link twice is set aside, and whatever was under way beside it goes on`() throws {
        let harness = try self.poisonable()
        for room in ["a", "b", "c"] { try harness.perform(.deliver(orderingKey: room), "first of \(room)") }
        try harness.perform(.deliver(orderingKey: "p"), "poison")
        try harness.perform(.deliver(orderingKey: "p"), "behind it")
        for room in ["a", "b", "c"] { try harness.perform(.deliver(orderingKey: room), "second of \(room)") }
        try harness.enter(.connected)
        harness.scheduler.advance(by: .seconds(30))
        let error = harness.failure("poison")
        #expect(error?.code == .messageRefused)
        #expect((error?.cause as? LinkspanError)?.message == "too large for this server")
        #expect(harness.arrived.filter { $0 == "poison" }.count == 2)
        #expect(harness.connection.state == .connected)
        for event in [
            "first of a", "first of b", "first of c", "behind it", "second of a", "second of b", "second of c",
        ] {
            #expect(harness.isSuccess(event), "\(event)")
        }
        #expect(harness.peers.count == 3)
    }

    @Test
    func `a delivery that was only there when a send ended its links is not blamed`() throws {
        let harness = try self.poisonable()
        harness.transport.onMessage { message in
            guard message.event == "poison" else { return }
            message.peer.drop(LinkspanError(.messageRefused, "too large for this server"))
        }
        try harness.enter(.connected)
        try harness.perform(.deliver(orderingKey: "room"), "innocent")
        for _ in 0..<4 {
            try harness.perform(.send, "poison")
            harness.scheduler.advance(by: .seconds(6))
            #expect(harness.connection.state == .connected)
        }
        harness.transport.onMessage { $0.reply() }
        #expect(harness.outcome("innocent") == nil)
        harness.scheduler.advance(by: .seconds(20))
        #expect(harness.isSuccess("innocent"))
    }

    @Test
    func `after the last attempt a delivery fails, and its orderingKey goes on`() throws {
        let harness = try Harness(
            options: { $0.deliveries = DeliveryOptions(repeatAfter: .seconds(1), attempts: 3) },
            script: { _ in .perfect })
        try harness.enter(.connected)
        try harness.perform(.deliver(orderingKey: "room"), "a")
        try harness.perform(.deliver(orderingKey: "room"), "b")
        harness.scheduler.advance(by: .seconds(3))
        #expect(harness.arrived == ["a", "a", "a", "b"])
        #expect(harness.failure("a")?.code == .timedOut)
        #expect(harness.failure("a")?.certainty == .unknown)
    }

    @Test
    func `after the last attempt a delivery fails with the loss of its link`() throws {
        let harness = try Harness(options: { $0.deliveries.attempts = 2 }, script: { _ in .perfect })
        try harness.enter(.connected)
        try harness.perform(.deliver(orderingKey: "room"), "a")
        harness.scheduler.settle()
        harness.peers.first?.drop()
        harness.scheduler.advance(by: .seconds(5))
        #expect(harness.transport.sent.map(\.event) == ["a", "a"])
        #expect(harness.outcome("a") == nil)
        try harness.perform(.deliver(orderingKey: "room"), "b")
        harness.transport.openPeers.first?.drop()
        harness.scheduler.settle()
        #expect(harness.failure("a")?.code == .timedOut)
        #expect(harness.failure("a")?.certainty == .unknown)
        harness.scheduler.advance(by: .seconds(5))
        #expect(harness.transport.sent.map(\.event) == ["a", "a", "b"])
    }

    @Test
    func `an attempt counts only if its link took it, even when the link is lost at that moment`() throws {
        // The first link is full with the first message.
        let script: @Sendable (Int) -> LinkScript = { number in .init { $0.capacity = number == 1 ? 1 : nil } }
        let harness = try Harness(options: { $0.deliveries.attempts = 1 }, script: script)
        harness.transport.onMessage { $0.reply() }
        let (connection, transport) = (harness.connection, harness.transport)
        try connection.perform(
            Command(.send, event: "leaves", payload: .empty) { _ in
                transport.openPeers.first?.drop()
                try? connection.disconnect()
            })
        try harness.perform(.deliver(orderingKey: "room"), "a")
        try harness.enter(.connected)
        #expect(harness.transport.sent.map(\.event) == ["leaves"])
        #expect(harness.outcome("a") == nil)
        try connection.connect()
        harness.scheduler.settle()
        #expect(harness.isSuccess("a"))
    }

    @Test
    func `an attempt that no link took does not count`() throws {
        let harness = try Harness(
            options: { $0.deliveries.attempts = 1 },
            script: { number in .init { if number == 1 { ($0.capacity, $0.dropsAfter) = (1, .seconds(1)) } } })
        try harness.enter(.connected)
        try harness.perform(.send, "fills the link")
        try harness.perform(.deliver(orderingKey: "room"), "a")
        harness.transport.onMessage { $0.reply() }
        harness.scheduler.advance(by: .seconds(10))
        #expect(harness.isSuccess("a"))
    }

    @Test
    func `the wait for a reply begins when the link takes the delivery`() throws {
        let harness = try Harness { _ in .init { $0.capacity = 1 } }
        try harness.enter(.disconnected)
        try harness.perform(.send, "fills the link")
        try harness.perform(.deliver(orderingKey: "room"), "a")
        try harness.connection.connect()
        harness.scheduler.advance(by: .seconds(15))
        // Twice: "a" must find room, and so must its repetition.
        for _ in 0..<2 {
            harness.transport.openPeers.first?.read()
            harness.scheduler.settle()
        }
        harness.scheduler.advance(by: .seconds(19))
        #expect(harness.transport.sent.map(\.event) == ["fills the link", "a"])
        harness.scheduler.advance(by: .seconds(1))
        #expect(harness.transport.sent.map(\.event) == ["fills the link", "a", "a"])
    }

    @Test
    func `a delivery that an earlier link may have carried is not called unsent when a later one rejects it`() throws {
        let tooLarge = LinkspanError(.messageTooLarge, "too large")
        let harness = try Harness { number in
            .init { if number == 2 { $0.rejects = { $0.event == "a" ? tooLarge : nil } } }
        }
        try harness.enter(.connected)
        try harness.perform(.deliver(orderingKey: "room"), "a")
        harness.peers.first?.drop()
        harness.scheduler.advance(by: .seconds(5))
        #expect(harness.failure("a")?.code == .messageTooLarge)
        #expect(harness.failure("a")?.certainty == .unknown)
    }

    @Test
    func `the key is a field of the first argument, the same for every attempt`() throws {
        let harness = try Harness(
            options: { $0.deliveries = DeliveryOptions(repeatAfter: .seconds(1), keyPlacement: .field("i\"d")) },
            script: { _ in .perfect })
        try harness.enter(.connected)
        for (event, text) in [("empty", " {}"), ("spaced", "{ \n}"), ("full", #"{"n":1},"more""#)] {
            try harness.connection.perform(
                Command(.deliver(orderingKey: event), event: event, payload: .json(text), key: "k-\(event)"))
        }
        harness.scheduler.advance(by: .seconds(1))
        let texts = harness.transport.received.map {
            "\($0.event) \(String(decoding: $0.payload.elements, as: UTF8.self))"
        }
        let once = [
            #"empty  {"i\"d":"k-empty"}"#, "spaced {\"i\\\"d\":\"k-spaced\" \n}",
            #"full {"i\"d":"k-full","n":1},"more""#,
        ]
        #expect(texts == once + once)
        #expect(try harness.transport.received.map { try #require($0.payload[0]?["i\"d"]?.string) }.first == "k-empty")
    }

    @Test(arguments: [
        "", "1", "[{}]", "\"{}\"", #"{"id":null}"#, #"{"a":1,"id":2}"#, #"{"_placeholder":true,"num":0}"#,
    ])
    func `a delivery whose first argument has no room for its key is refused at once`(_ text: String) throws {
        let harness = try Harness(
            options: { $0.deliveries = DeliveryOptions(keyPlacement: .field("id")) }, script: { _ in .perfect })
        try harness.enter(.connected)
        let payload = Payload(trustedElements: Array(text.utf8)[...], attachments: [[1]])
        let error = #expect(throws: LinkspanError.self) {
            try harness.connection.perform(Command(.deliver(orderingKey: "a"), event: "a", payload: payload))
        }
        #expect(error?.code == .encodingFailed)
        #expect(error?.certainty == .notSent)
        // Other commands carry no key.
        try harness.connection.perform(Command(.send, event: "b", payload: payload))
        harness.scheduler.settle()
        #expect(harness.arrived == ["b"])
    }

    @Test
    func `the key is behind the arguments, the same for every attempt`() throws {
        let harness = try Harness(
            options: { $0.deliveries = DeliveryOptions(repeatAfter: .seconds(1), keyPlacement: .lastArgument) },
            script: { _ in .perfect })
        try harness.enter(.connected)
        for (event, key) in [("own", "k-1"), ("made", nil), ("other", nil)] as [(String, String?)] {
            try harness.connection.perform(
                Command(.deliver(orderingKey: event), event: event, payload: .json("1"), key: key))
        }
        harness.scheduler.advance(by: .seconds(1))
        let received = try harness.transport.received.map { message in
            #expect(try message.payload.decode(Int.self) == 1)
            return try "\(message.event) \(message.payload.decode(String.self, at: 1))"
        }
        #expect(received.count == 6)
        #expect(Set(received).count == 3)
        #expect(received.first == "own k-1")
        try harness.perform(.send, "plain")
        harness.scheduler.settle()
        #expect(harness.transport.received.last?.payload.isEmpty == true)
    }
}
