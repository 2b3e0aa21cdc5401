#if canImport(Combine) || OpenCombine
internal import Linkspan
internal import LinkspanInMemory
internal import LinkspanRuntime
internal import Testing

@testable internal import LinkspanReactive

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

@Suite("A queue that follows demand")
struct DemandQueueTests {
    /// What a subscriber gets until the queue waits.
    private static func drain(_ queue: inout DemandQueue<Int>) -> [String] {
        var given: [String] = []
        while true {
            switch queue.next() {
            case .give(let element, let dropped): given += (dropped > 0 ? ["lost \(dropped)"] : []) + ["\(element)"]
            case .finish: given.append("end")
            case .wait: return given
            }
        }
    }

    @Test
    func `keeps 16 MiB, and counts those that it gave no more`() {
        let most = 16 << 20
        var queue = DemandQueue<Int>(capacity: 3)
        for (number, bytes) in [most - 1, 1, 1].enumerated() { _ = queue.push(number, bytes: bytes) }
        _ = queue.request(.max(2))
        #expect(Self.drain(&queue) == ["lost 1", "1", "2"])
        for (number, bytes) in [most, 0, 1].enumerated() { _ = queue.push(number, bytes: bytes) }
        _ = queue.request(.max(2))
        #expect(Self.drain(&queue) == ["lost 1", "1", "2"])
        for (number, bytes) in [1, most + 1].enumerated() { _ = queue.push(number, bytes: bytes) }
        _ = queue.request(.max(1))
        #expect(Self.drain(&queue) == ["lost 1", "1"])
        for number in 0..<4 { _ = queue.push(number) }
        _ = queue.request(.unlimited)
        #expect(Self.drain(&queue) == ["lost 1", "1", "2", "3"])
    }

    @Test
    func `is delivered by one caller at a time`() {
        var queue = DemandQueue<Int>(capacity: 3)
        let begins = [queue.push(1), queue.request(.max(2)), queue.push(2), queue.request(.max(1))]
        #expect(begins == [false, true, false, false])
        #expect(Self.drain(&queue) == ["1", "2"])
        let again = [queue.push(3), queue.push(4)]
        #expect(again == [true, false])
        #expect(Self.drain(&queue) == ["3"])
    }

    @Test
    func `begins with what held before, unless something newer has come`() {
        var (late, early) = (DemandQueue<Int>(capacity: 3), DemandQueue<Int>(capacity: 3))
        for demand in [late.request(.unlimited), late.push(2)] where demand { #expect(Self.drain(&late) == ["2"]) }
        let isLate = late.begin(with: 1)
        let isEarly = early.begin(with: 1)
        #expect(!isLate && !isEarly && Self.drain(&late).isEmpty)
        _ = early.request(.unlimited)
        #expect(Self.drain(&early) == ["1"])
    }

    @Test
    func `ends once, behind what waits, and gives nothing after that`() {
        var queue = DemandQueue<Int>(capacity: 3)
        let steps = [queue.push(1), queue.finish(), queue.finish(), queue.push(2), queue.request(.max(1))]
        #expect(steps == [false, false, false, false, true])
        #expect(Self.drain(&queue) == ["1", "end"])
        let later = [queue.finish(), queue.push(3), queue.request(.unlimited)]
        #expect(!later.contains(true) && Self.drain(&queue).isEmpty)
        var empty = DemandQueue<Int>(capacity: 3)
        let ends = empty.finish()
        #expect(ends && Self.drain(&empty) == ["end"], "an end needs no demand")
        var cancelled = DemandQueue<Int>(capacity: 3)
        _ = cancelled.push(1)
        cancelled.cancel()
        let delivers = [cancelled.request(.unlimited), cancelled.push(2), cancelled.finish()]
        #expect(!delivers.contains(true) && Self.drain(&cancelled).isEmpty)
    }
}
#endif
