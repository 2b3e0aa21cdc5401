#if canImport(Combine) || OpenCombine
internal import Linkspan
internal import LinkspanReactive
internal import LinkspanRuntime
internal import Testing

#if canImport(Combine)
internal import Combine
#else
internal import OpenCombine
#endif

/// What many threads do at once; most telling under the thread sanitizer.
@Suite("Publishers and threads", .timeLimit(.minutes(5)))
struct ThreadTests {
    let lobby = Lobby()

    @Test
    func `values and demand from many threads: none lost, none twice, no two at once`() async throws {
        let connection = try self.lobby.connect()
        let reader = Reader<Message>(.none)
        connection.publisher(for: "number", capacity: 10_000).subscribe(reader)
        await withDiscardingTaskGroup { group in
            for emitter in 0..<4 {
                group.addTask { self.lobby.emit(emitter * 1_000..<(emitter + 1) * 1_000) }
                group.addTask { for _ in 0..<1_000 { reader.request(1) } }
            }
        }
        let numbers = reader.values.compactMap(\.number)
        #expect(numbers.sorted() == Array(0..<4_000))
        for emitter in 0..<4 {
            let own = numbers.filter { $0 / 1_000 == emitter }
            #expect(own == own.sorted(), "the order of one sender was not kept")
        }
        #expect(reader.violations == [])
    }

    @Test
    func `every message either comes or is counted`() async throws {
        let connection = try self.lobby.connect()
        let lost = Lock(0)
        let reader = Reader<Message>(.none)
        connection.publisher(for: "number", capacity: 5) { count in lost.withLock { $0 += count } }.subscribe(reader)
        await withDiscardingTaskGroup { group in
            group.addTask { self.lobby.emit(0..<5_000) }
            group.addTask { for _ in 0..<500 { reader.request(1) } }
        }
        reader.request(10_000)
        #expect(reader.values.count + lost.withLock { $0 } == 5_000)
        #expect(reader.violations == [])
    }

    @Test
    func `cancelling while values come is safe, and final`() async throws {
        let connection = try self.lobby.connect()
        for _ in 0..<50 {
            let reader = Reader<Message>()
            connection.publisher(for: "number").subscribe(reader)
            await withDiscardingTaskGroup { group in
                group.addTask { self.lobby.emit(0..<100) }
                for _ in 0..<2 { group.addTask { reader.cancel() } }
            }
            let count = reader.values.count
            self.lobby.emit([100])
            #expect(reader.values.count == count)
            #expect(reader.violations == [])
        }
    }

    @Test
    func `subscribing while the state changes shows a legal walk up to the present`() async throws {
        let connection = try self.lobby.connect()
        let readers = Lock<[Reader<ConnectionState>]>([])
        await withDiscardingTaskGroup { group in
            group.addTask {
                for _ in 0..<200 {
                    try? connection.disconnect()
                    try? connection.connect()
                }
            }
            for _ in 0..<3 {
                group.addTask {
                    for _ in 0..<50 {
                        let reader = Reader<ConnectionState>()
                        connection.statePublisher.subscribe(reader)
                        readers.withLock { $0.append(reader) }
                    }
                }
            }
        }
        for reader in readers.withLock({ $0 }) {
            let states = reader.values
            #expect(zip(states, states.dropFirst()).allSatisfy { $0.canBecome($1) }, "\(states)")
            #expect(states.last == connection.state)
            #expect(reader.violations == [])
            reader.cancel()
        }
    }

    @Test
    func `a release ends every subscriber once, whatever else goes on`() async throws {
        for _ in 0..<30 {
            let lobby = Lobby()
            let connection = try lobby.connect()
            let readers = (0..<3).map { _ in Reader<Message>() }
            await withDiscardingTaskGroup { group in
                for reader in readers {
                    group.addTask { connection.publisher(for: "number").subscribe(reader) }
                }
                group.addTask { lobby.emit(0..<20) }
                group.addTask { await lobby.manager.shutdown() }
            }
            for reader in readers {
                #expect(reader.completions == 1)
                #expect(reader.violations == [])
            }
        }
    }
}
#endif
