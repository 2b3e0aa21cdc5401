internal import Foundation
internal import LinkspanInMemory
internal import LinkspanTesting
internal import Testing

@testable import Linkspan

extension Event where Value == Arguments<Int, String>, Reply == Arguments<Bool, Data> {
    fileprivate static var move: Self { Event("move") }
}

private typealias NoArguments = Arguments<>

extension Event where Value == NoArguments, Reply == NoReply {
    fileprivate static var refresh: Self { Event("refresh") }
}

@Suite("Events of several arguments", .timeLimit(.minutes(1)))
struct ArgumentsTests {
    @Test
    func `each value is an argument of its own, both ways`() async throws {
        let harness = try Harness.connected()
        harness.transport.onMessage { message in
            #expect(message.payload.text == #"1,"b""#)
            message.reply((try? Payload(true, Data([7]))) ?? .empty)
        }
        async let reply = harness.connection.request(.move, Arguments(1, "b"))
        await harness.scheduler.run { harness.transport.received.count == 1 }
        harness.scheduler.settle()
        let (isRight, blob) = try await reply.values
        #expect(isRight)
        #expect(blob == Data([7]))
        try harness.connection.on(.move) { value in
            harness.recorder.note("\((try? value.get().values).map { "\($0.0) \($0.1)" } ?? "none")")
        }
        for text in [#"2,"c""#, #" 3 , "d" , 4"#, "5", "", #"["6"]"#] { harness.peers.last?.emit("move", .json(text)) }
        harness.scheduler.settle()
        #expect(harness.recorder.notes == ["2 c", "3 d", "none", "none", "none"])
    }

    @Test
    func `no arguments are a value, too`() throws {
        let harness = try Harness.connected()
        try harness.connection.on(.refresh) { harness.recorder.note((try? $0.get()) == nil ? "none" : "refresh") }
        try harness.connection.send(.refresh, Arguments())
        harness.peers.last?.emit("refresh", .empty)
        harness.scheduler.settle()
        #expect(harness.transport.received.map(\.payload) == [.empty])
        #expect(harness.recorder.notes == ["refresh"])
        #expect(try Payload(1, Arguments(), 2).text == "1,2")
        #expect(try Payload(1, Arguments()).text == "1")
        #expect(try Payload(Arguments(), 1).text == "1")
    }

    @Test
    func `the rules of a coder hold`() throws {
        for coder in [PayloadCoder.standard, PayloadCoder(dates: .deferred)] {
            let payload = try Payload(Arguments(1, Date(timeIntervalSince1970: 0), Data([1])), coder: coder)
            #expect(payload.values.count == 3)
            #expect(payload.attachments.count == 1)
            let (number, date, data) = try payload.decode(Arguments<Int, Date, Data>.self, coder: coder).values
            #expect(number == 1)
            #expect(date == Date(timeIntervalSince1970: 0))
            #expect(data == Data([1]))
            _ = try Payload.empty.decode(NoArguments.self, coder: coder)
        }
    }

    @Test
    func `inside another value they are an array`() throws {
        let payload = try Payload(["at": Arguments(1, 2)])
        #expect(payload.text == #"{"at":[1,2]}"#)
        #expect(try payload.decode([String: Arguments<Int, Int>].self)["at"]?.values.1 == 2)
        #expect(try JSONEncoder().encode(Arguments(1, "a")) == Data(#"[1,"a"]"#.utf8))
        #expect(try JSONDecoder().decode(Arguments<Int, String>.self, from: Data(#"[1,"a"]"#.utf8)).values.1 == "a")
    }

    @Test
    func `an argument of the wrong type is named by its place`() throws {
        let error = #expect(throws: LinkspanError.self) {
            try Payload("a", "b").decode(Arguments<String, Int>.self)
        }
        #expect(error?.code == .decodingFailed)
        let cause = "\(error?.cause ?? LinkspanError.lost)"
        #expect(cause.contains("[1]"))
    }

    @Test
    func `values of an event come by its bare name as well`() async throws {
        let harness = try Harness.connected()
        let values = try harness.connection.values("number", as: Int.self)
        for text in ["1", #""two""#] { harness.peers.last?.emit("number", .json(text)) }
        harness.scheduler.settle()
        var iterator = values.makeAsyncIterator()
        #expect(try await iterator.next()?.get() == 1)
        let second = await iterator.next()
        #expect(throws: LinkspanError.self) { try second?.get() }
    }

    @Test
    func `a hub emits and replies values`() async throws {
        let hub = InMemoryHub()
        hub.onConnect { peer in
            peer.on("add") { message in
                let (first, second) = (message.payload[0]?.int ?? 0, message.payload[1]?.int ?? 0)
                try? message.reply(first + second)
                try? peer.emit("added", first, second)
            }
        }
        let connection = try ConnectionBuilder("memory://hub").transport(.inMemory(hub)).connect(
            by: ConnectionManager())
        #expect(try await connection.request("add", 1, 2).decode(Int.self) == 3)
        let added = try await connection.next("added").decode(Arguments<Int, Int>.self).values
        #expect(added == (1, 2))
    }
}

@Suite("Raw JSON")
struct RawJSONTests {
    @Test
    func `a value that was received goes out as it came, its blobs numbered anew`() throws {
        let received = try Payload(Data([1]), ["b": Data([2]), "c": Data([3])])
        let inner = try #require(received[1])
        let sent = try Payload(Data([9]), inner, "end")
        #expect(Set(sent.attachments.map { Array($0) }) == [[9], [2], [3]])
        let decoded = try sent.decode([String: Data].self, at: 1)
        #expect(decoded == ["b": Data([2]), "c": Data([3])])
        #expect(try sent.decode(Data.self) == Data([9]))
    }

    @Test
    func `strings and objects that look like placeholders stay`() throws {
        let source = try Payload(Data([1]), ["\"{_placeholder\\": "{"], [["_placeholder": 1]])
        let copy = try Payload(try #require(source[1]), try #require(source[2]))
        #expect(copy.text == #"{"\"{_placeholder\\":"{"},[{"_placeholder":1}]"#)
    }

    @Test
    func `it stands inside values, both ways`() throws {
        struct Filter: Codable, Equatable {
            var name: String
            var rule: PayloadValue
        }
        let filter = Filter(name: "cheap", rule: try PayloadValue(json: #"{"price": {"$lt": 1e2}}"#))
        let payload = try Payload(filter)
        #expect(payload.text == #"{"name":"cheap","rule":{"price": {"$lt": 1e2}}}"#)
        #expect(try payload.decode(Filter.self) == filter)
        #expect(try payload.decode(PayloadValue.self)["name"]?.string == "cheap")
        #expect(try payload.decode(PayloadValue.self)["rule"]?["price"]?["$lt"]?.double == 100)
    }

    @Test
    func `other coders write and read it value by value`() throws {
        let text = #"{"a":[1,2.5,"x",true,null],"b":{}}"#
        let value = try PayloadValue(json: text)
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        #expect(String(decoding: try encoder.encode(value), as: UTF8.self) == text)
        let read = try JSONDecoder().decode([String: PayloadValue].self, from: Data(text.utf8))
        #expect(read["a"]?[1]?.double == 2.5)
        #expect(read["a"]?[3]?.bool == true)
        #expect(read["a"]?[4]?.isNull == true)
        #expect(try FoundationCoder.standard.encode(value).decode(PayloadValue.self)["a"]?[2]?.string == "x")
    }

    @Test
    func `a type that hands its coder on gets the same text`() throws {
        struct Wrapped: Codable {
            var value: PayloadValue

            init(from decoder: any Decoder) throws { self.value = try PayloadValue(from: decoder) }

            func encode(to encoder: any Encoder) throws { try self.value.encode(to: encoder) }
        }
        let payload = Payload.json(#"{"n": 1e2 }"#)
        let wrapped = try payload.decode(Wrapped.self)
        #expect(try Payload(wrapped).text == #"{"n": 1e2 }"#)
    }
}

private struct Moment: Codable, Sendable, Equatable { var seenAt: Date }

extension Event where Value == Moment, Reply == Moment {
    fileprivate static var moved: Self {
        Event("moved", coder: PayloadCoder(dates: .millisecondsSince1970, usesSnakeCase: true))
    }
}

@Suite("Events with a coder of their own", .timeLimit(.minutes(1)))
struct EventCoderTests {
    @Test
    func `a sent value is written by the coder of the event`() throws {
        let harness = try Harness.connected()
        harness.transport.onMessage { harness.recorder.note($0.payload.text) }
        try harness.connection.send(.moved, Moment(seenAt: Date(timeIntervalSince1970: 1)))
        harness.scheduler.settle()
        #expect(harness.recorder.notes == [#"{"seen_at":1000}"#])
    }

    @Test
    func `a received value is read by the coder of the event, and the answer written by it`() throws {
        let harness = try Harness.connected()
        try harness.connection.on(.moved) { moment in
            harness.recorder.note("\((try? moment.get())?.seenAt.timeIntervalSince1970 ?? 0)")
        }
        try harness.connection.answer(.moved) { Moment(seenAt: $0.seenAt + 1) }
        harness.peers.first?.ask("moved", .json(#"{"seen_at":2000}"#)) { harness.recorder.note($0.text) }
        harness.scheduler.settle()
        #expect(harness.recorder.notes == ["2.0", #"{"seen_at":3000}"#])
    }
}
