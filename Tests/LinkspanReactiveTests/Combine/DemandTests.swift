#if canImport(Combine) || OpenCombine
internal import Linkspan
internal import LinkspanReactive
internal import LinkspanInMemory
internal import LinkspanRuntime
internal import Testing

#if canImport(Combine)
internal import Combine
#else
internal import OpenCombine
#endif

@Suite("Demand", .timeLimit(.minutes(1)))
struct DemandTests {
    let lobby = Lobby()

    @Test
    func `a demand of one brings one value`() throws {
        let connection = try self.lobby.connect()
        let reader = Reader<Message>(.max(1))
        connection.publisher(for: "number").subscribe(reader)
        self.lobby.emit(0..<3)
        #expect(reader.values.map(\.number) == [0])
        reader.request(1)
        #expect(reader.values.map(\.number) == [0, 1])
        reader.request(2)
        self.lobby.emit(3..<5)
        #expect(reader.values.map(\.number) == [0, 1, 2, 3], "what was asked for in advance is not forgotten")
    }

    @Test
    func `demand returned by a subscriber is added`() throws {
        let connection = try self.lobby.connect()
        let reader = Reader<Message>(.max(1)) { _, message in message.number == 1 ? .none : .max(1) }
        connection.publisher(for: "number").subscribe(reader)
        self.lobby.emit(0..<5)
        #expect(reader.values.map(\.number) == [0, 1])
    }

    @Test
    func `asking from inside a value does not nest calls`() throws {
        let connection = try self.lobby.connect()
        let reader = Reader<Message>(.max(1)) { reader, _ in
            reader.request(1)
            return .none
        }
        connection.publisher(for: "number").subscribe(reader)
        self.lobby.emit(0..<1_000)
        #expect(reader.values.map(\.number) == Array(0..<1_000))
        #expect(reader.violations == [])
    }

    @Test
    func `values that wait are bounded in bytes as well`() throws {
        let connection = try self.lobby.connect()
        let reader = Reader<Message>(.none)
        let dropped = Lock(0)
        connection.publisher(for: "text", isolation: nil) { count in dropped.withLock { $0 += count } }.subscribe(
            reader)
        let text = String(repeating: "x", count: 6 << 20)
        for _ in 0..<4 { self.lobby.hub.emit("text", .json("\"\(text)\"")) }
        reader.request(10)
        #expect(reader.values.count == 2)
        #expect(dropped.withLock { $0 } == 2)
    }

    @Test
    func `cancelling from inside a value makes it the last`() async throws {
        let connection = try self.lobby.connect()
        let reader = Reader<Message>(.none) { reader, message in
            if message.number == 2 { reader.cancel() }
            return .unlimited
        }
        connection.publisher(for: "number").subscribe(reader)
        self.lobby.emit(0..<5)
        reader.request(1)
        #expect(reader.values.map(\.number) == [0, 1, 2])
        await self.lobby.manager.shutdown()
        #expect(reader.completions == 0)
    }

    @Test
    func `a full queue loses its oldest messages and says how many`() throws {
        let connection = try self.lobby.connect()
        let told = Lock<[String]>([])
        let reader = Reader<Message>(.max(1)) { _, message in
            told.withLock { $0.append("\(message.number ?? -1)") }
            return .none
        }
        connection.publisher(for: "number", capacity: 3) { count in
            told.withLock { $0.append("lost \(count)") }
        }.subscribe(reader)
        self.lobby.emit(0..<11)
        #expect(told.withLock { $0 } == ["0"])
        reader.request(2)
        self.lobby.emit(11..<14)
        reader.request(9)
        #expect(
            told.withLock { $0 } == ["0", "lost 7", "8", "9", "lost 1", "11", "12", "13"],
            "every message either came or was counted just before the next that came")
    }

    @Test(arguments: [0, -5])
    func `a queue without room still keeps the latest`(capacity: Int) throws {
        let connection = try self.lobby.connect()
        let reader = Reader<Message>(.none)
        connection.publisher(for: "number", capacity: capacity).subscribe(reader)
        self.lobby.emit(0..<5)
        reader.request(5)
        #expect(reader.values.map(\.number) == [4])
    }
}
#endif
