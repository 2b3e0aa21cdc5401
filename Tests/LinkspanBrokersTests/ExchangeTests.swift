internal import Foundation
internal import Linkspan
internal import LinkspanBrokers
internal import LinkspanNetwork
internal import LinkspanWebSocket
internal import TestSupport
internal import TestedBackEnds
internal import Testing

/// Brokers that nobody here wrote, and clients of other makes at their other side.
@Suite(.overEachBackEnd, .timeLimit(.minutes(4)))
struct ExchangeTests {
    private struct Job: Codable, Sendable, Hashable {
        var number: Int
        var text: String
    }

    @Test(arguments: BrokerCase.all)
    func `what is sent arrives as it was sent, and so does what another client sends`(_ of: BrokerCase) async throws {
        try await Broker.run(of.kind) { broker in
            let connection = try broker.connect(of.language)
            let (described, echo) = (
                try connection.journal(of.event("client", "described")),
                try connection.journal(of.event("client", "echo"))
            )
            try await connection.up()
            try await broker.withPeer(of: of.kind) {
                try connection.send(of.event("peer", "describe", "a"), Job(number: 7, text: "ä"))
                let text = try #require(try await described.first(1)[0].payload[0])
                #expect(text["content"]?.string == String(decoding: #"{"number":7,"text":"Ã¤"}"#.utf8, as: UTF8.self))
                #expect((text["topic"] ?? text["subject"])?.string == of.event("peer", "describe", "a"))

                let payloads = [
                    try Payload(Job(number: 1, text: "x")), try Payload("text"), try Payload(1, "two", [3]), .empty,
                    try Payload([1, 2]), try Payload(Data([0, 255, 7])),
                ]
                for payload in payloads {
                    try connection.perform(Command(.send, event: of.event("peer", "echo"), payload: payload))
                }
                let back = try await echo.first(payloads.count).map(\.payload)
                #expect(back == payloads)
            }
        }
    }

    @Test(arguments: BrokerCase.all)
    func `requests are answered both ways`(_ of: BrokerCase) async throws {
        try await Broker.run(of.kind) { broker in
            let connection = try broker.connect(of.language)
            let answered = try connection.journal(of.event("client", "answered"))
            _ = try connection.on(of.event("client", "question")) { message in message.reply(payload: message.payload) }
            try await connection.up()
            try await broker.withPeer(of: of.kind) {
                for number in 0..<20 {
                    let reply = try await connection.request(of.event("peer", "request"), number)
                    #expect(try reply.decode(Int.self) == number)
                }
                try connection.send(of.event("peer", "ask"), "why")
                #expect(try await answered.first(1)[0].payload.decode(String.self) == "why")
            }
        }
    }

    @Test(arguments: BrokerCase.all)
    func `a listener of several topics hears which one it is, and one that has ended hears nothing`(
        _ of: BrokerCase
    ) async throws {
        try await Broker.run(of.kind) { broker in
            let (one, other) = (try broker.connect(of.language), try broker.connect(of.language))
            let filter = of.event("rooms", of.kind == .nats ? "*" : "+", "said")
            let heard = Journal<Message>("what was said")
            let subscription = try one.on(filter) { heard.append($0) }
            let end = try one.journal(of.event("end"))
            try await one.up()
            try await other.up()
            // The broker confirms nothing that a client could wait for, but takes everything of one client in order.
            try await one.settle(of.separator)
            try other.send(of.event("rooms", "blue", "said"), "hello")
            let first = try await heard.first(1)[0]
            #expect(first.event == filter)
            #expect(first.payload[0]?.string == "hello")
            #expect(first.payload[1]?.string == of.event("rooms", "blue", "said"))
            subscription.cancel()
            try await one.settle(of.separator)
            try other.send(of.event("rooms", "blue", "said"), "again")
            try other.send(of.event("end"), "end")
            _ = try await end.first(1)
            #expect(heard.entries.count == 1)
        }
    }

    @Test(arguments: BrokerCase.all)
    func `refused credentials end the attempts with their own code, and good ones connect`(_ of: BrokerCase)
        async throws
    {
        try await Broker.run(of.kind, "--password", "secret") { broker in
            let bad = try broker.connect(of.language, auth: ["username": "ann", "password": "wrong"])
            try await eventually("it is refused") { bad.status.lastError?.code == .credentialsRefused }
            let good = try broker.connect(of.language, auth: ["username": "ann", "password": "secret"])
            try await good.up()
        }
    }

    @Test(arguments: BrokerCase.all)
    func `after a kill of the broker listeners hear again, and what waited is sent once`(_ of: BrokerCase) async throws
    {
        try await Broker.run(of.kind) { broker in
            let connection = try broker.connect(of.language)
            let heard = try connection.journal(of.event("self", "news"))
            try await connection.up()
            try connection.send(of.event("self", "news"), 0)
            _ = try await heard.first(1)
            await broker.server.stop()
            try await eventually("it is down") { connection.status.state != .connected }
            for number in 1...3 { try connection.send(of.event("self", "news"), number) }
            try await broker.server.start()
            let numbers = try await heard.first(4).map { try $0.decode(Int.self) }
            #expect(numbers == [0, 1, 2, 3])
        }
    }

    @Test(arguments: BrokerCase.all)
    func `a request fails when the link is lost, and is not sent again`(_ of: BrokerCase) async throws {
        try await Broker.run(of.kind) { broker in
            try await broker.withRelay { relay in
                let (asking, other) = (try broker.connect(of.language, through: relay), try broker.connect(of.language))
                // Never answered.
                let questions = try other.journal(of.event("questions"))
                try await other.up()
                try await other.settle(of.separator)
                try await asking.up()
                let changes = asking.changes()
                let outcomes = Journal<Result<Payload, LinkspanError>>("the outcome")
                let question = Command(.request, event: of.event("questions"), payload: try Payload(1)) {
                    outcomes.append($0)
                }
                try asking.perform(question)
                try await questions.first(1)
                try await relay.restart()
                let outcome = try await outcomes.first(1)[0]
                let error = #expect(throws: LinkspanError.self) { try outcome.get() }
                #expect(error?.code == .disconnected)
                #expect(error?.certainty == .unknown)
                let back = try await changes.first { $0.continuity != nil }
                #expect(back.continuity == (of.kind == .nats ? .gap(.reconnected) : .continuous))
                try await asking.settle(of.separator)
                try await other.settle(of.separator)
                #expect(questions.entries.count == 1)
            }
        }
    }

    @Test(arguments: BrokerCase.all)
    func `a name that the broker cannot have is refused, and a message that is too large`(_ of: BrokerCase) async throws
    {
        try await Broker.run(of.kind) { broker in
            let connection = try broker.connect(of.language)
            try await connection.up()
            let wrong =
                of.kind == .nats
                ? ["a b", "a..b", "*", "", String(repeating: "a", count: 5_000)]
                : ["a/+", "#", "a\nb", "", "a\u{7F}", "a\u{85}b", "a\u{FFFF}", "a/+\u{301}"]
            for name in wrong {
                let outcome = Journal<Result<Payload, LinkspanError>>("the outcome")
                try connection.perform(Command(.send, event: name, payload: .empty) { outcome.append($0) })
                let first = try await outcome.first(1)[0]
                let error = #expect(throws: LinkspanError.self) { try first.get() }
                #expect(error?.code == .encodingFailed)
            }
            guard of.kind == .nats else { return }
            let error = await #expect(throws: LinkspanError.self) {
                try await connection.request("large", String(repeating: "x", count: 2 << 20))
            }
            #expect(error?.code == .messageTooLarge)
            #expect(connection.status.state == .connected)
        }
    }
}
