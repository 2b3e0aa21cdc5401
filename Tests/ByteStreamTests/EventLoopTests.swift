import Linkspan
import LinkspanBackEnds
import LinkspanNetwork
import LinkspanRuntime
import TestedBackEnds
import Testing

@Suite("An event loop", .timeLimit(.minutes(1)), .overEachBackEnd)
struct EventLoopTests {
    @Test
    func `runs jobs of one thread in their order`() async throws {
        try await withLoop { loop in
            let numbers = Lock<[Int]>([])
            for number in 0..<10_000 { loop.execute { numbers.withLock { $0.append(number) } } }
            await hop(loop)
            #expect(numbers.withLock { $0 } == Array(0..<10_000))
        }
    }

    @Test
    func `runs all jobs of many threads, however often it falls asleep in between`() async throws {
        try await withLoop { loop in
            let count = Lock(0)
            await withDiscardingTaskGroup { group in
                for _ in 0..<8 {
                    group.addTask {
                        for _ in 0..<2_000 {
                            loop.execute { count.withLock { $0 += 1 } }
                            await hop(loop)
                        }
                    }
                }
            }
            #expect(count.withLock { $0 } == 16_000)
        }
    }

    @Test
    func `runs a job given by a job, even while it has nothing else to do`() async throws {
        try await withLoop { loop in
            await withCheckedContinuation { continuation in
                loop.execute { loop.execute { loop.execute { continuation.resume() } } }
            }
        }
    }

    @Test
    func `runs timers by their time, not their order, and not those that are cancelled`() async throws {
        try await withLoop { loop in
            let (fired, fire) = AsyncStream.makeStream(of: Int.self)
            let start = ContinuousClock.now
            // Within a job, so that none runs before all are set.
            loop.execute {
                loop.schedule(at: start + .milliseconds(900)) { fire.yield(3) }
                let cancelled = loop.schedule(at: start + .milliseconds(100)) { fire.yield(0) }
                loop.schedule(at: start + .milliseconds(200)) { fire.yield(2) }
                loop.schedule(at: start) { fire.yield(1) }
                cancelled.cancel()
            }
            var numbers: [Int] = []
            for await number in fired {
                numbers.append(number)
                if number == 3 { break }
            }
            #expect(numbers == [1, 2, 3])
            #expect(start.duration(to: .now) >= .milliseconds(900))
        }
    }

    @Test
    func `does not run a timer that another cancels which was due at the same time`() async throws {
        try await withLoop { loop in
            let (fired, fire) = AsyncStream.makeStream(of: Int.self)
            loop.execute {
                let due = ContinuousClock.now + .milliseconds(1)
                let second = Confined<(any ScheduledWork)?>(nil, to: loop)
                _ = loop.schedule(at: due) {
                    second.value?.cancel()
                    fire.yield(1)
                }
                second.value = loop.schedule(at: due) { fire.yield(2) }
                _ = loop.schedule(at: due) { fire.yield(3) }
                // Let all become due before the first runs.
                while ContinuousClock.now < due {}
            }
            var numbers: [Int] = []
            for await number in fired {
                numbers.append(number)
                if number == 3 { break }
            }
            #expect(numbers == [1, 3])
        }
    }

    @Test
    func `runs a timer that is set by a timer`() async throws {
        try await withLoop { loop in
            await withCheckedContinuation { continuation in
                loop.schedule(at: .now + .milliseconds(1)) {
                    loop.schedule(at: .now + .milliseconds(1)) { continuation.resume() }
                }
            }
        }
    }

    @Test
    func `knows whether the caller is on it`() async throws {
        try await withLoop { loop in
            #expect(!loop.isCurrent)
            #expect(await loop.perform { loop.isCurrent })
            let other = makeLoop(name: "other")
            #expect(await other.perform { loop.isCurrent } == false)
            other.shutdown()
        }
    }

    @Test
    func `confined state traps on another thread in debug builds`() async {
        await #expect(processExitsWith: .failure) {
            let number = Confined(1, to: makeLoop(name: "test"))
            _ = number.value
        }
    }

    @Test
    func `ends its open streams when it is shut down, each once`() async throws {
        try await withServer(EchoTests.echo) { server in
            let loop = makeLoop(name: "test")
            let recorders = (0..<50).map { _ in Recorder() }
            let streams = recorders.map { $0.connect(server.request(), on: loop) }
            for recorder in recorders.prefix(25) { _ = try await recorder.opening() }
            for stream in streams { stream.write { $0 += pattern(100_000) } }
            loop.shutdown()
            for recorder in recorders { #expect(await recorder.ending().code == .loopStopped) }
            #expect(streams[0].write { $0.append(1) } == .refused)
            loop.shutdown()
        }
    }

    @Test
    func `runs what is given after its end on the caller's thread, one job at a time, and opens no more streams`()
        async throws
    {
        let loop = makeLoop(name: "test")
        let count = Confined(0, to: loop)
        await loop.perform { count.value += 1 }
        loop.shutdown()
        await withDiscardingTaskGroup { group in
            for _ in 0..<50 { group.addTask { for _ in 0..<20 { await loop.perform { count.value += 1 } } } }
        }
        #expect(await loop.perform { count.value } == 1_001)
        let recorder = Recorder()
        let stream = recorder.connect(StreamRequest(host: "127.0.0.1", port: 1, isSecure: false), on: loop)
        #expect(await recorder.ending().code == .loopStopped)
        #expect(stream.write { $0.append(1) } == .refused)
        stream.abort()
        stream.finish()
        loop.schedule(at: .now) { Issue.record("a timer ran after the end") }
        await hop(loop)
    }

    @Test
    func `can be shut down by one of its own jobs`() async throws {
        let loop = makeLoop(name: "test")
        let recorder = Recorder { event, _ in if case .closed = event { loop.shutdown() } }
        _ = recorder.connect(StreamRequest(host: "127.0.0.1", port: try unusedPort(), isSecure: false), on: loop)
        #expect(await recorder.ending().code == .unreachable)
        loop.shutdown()
    }

    @Test
    func `is not harmed by wake-ups, writes and connects that race its end`() async throws {
        try await withServer(EchoTests.echo) { server in
            for _ in 0..<30 {
                let loop = makeLoop(name: "test")
                let recorders = (0..<8).map { _ in Recorder() }
                for recorder in recorders {
                    let isStarted = spawn {
                        let stream = recorder.connect(server.request(), on: loop)
                        for _ in 0..<100 {
                            stream.write { $0 += [1, 2, 3] }
                            loop.execute {}
                            loop.schedule(at: .now + .milliseconds(1)) {}
                        }
                    }
                    #expect(isStarted)
                }
                await hop(loop)
                loop.shutdown()
                for recorder in recorders { #expect(await recorder.ending().code == .loopStopped) }
            }
        }
    }

    @Test
    func `ends 500 attempts that are begun at once, each with its echo`() async throws {
        try await withServer(EchoTests.echo) { server in
            try await withLoop { loop in
                let recorders = (0..<500).map { _ in Recorder() }
                let streams = recorders.map { $0.connect(server.request(), on: loop) }
                for (number, stream) in streams.enumerated() {
                    stream.write { $0 += [UInt8(number >> 8), UInt8(number & 0xFF)] }
                }
                for (number, recorder) in recorders.enumerated() {
                    let bytes = try await recorder.bytes(2)
                    #expect(bytes == [UInt8(number >> 8), UInt8(number & 0xFF)])
                }
                for stream in streams { stream.finish() }
                for recorder in recorders { #expect(await recorder.ending().code == .closedByUs) }
                #expect(server.acceptedCount == 500)
            }
        }
    }

    @Test(arguments: ["open", "refused", "reset", "tls"])
    func `keeps nothing of a stream that has ended, however it ended`(kind: String) async throws {
        let port = try unusedPort()
        try await withServer({ peer in
            switch kind {
            case "open": EchoTests.echo(peer)
            default: _ = peer.read()
            }
        }) { server in
            try await withLoop { loop in
                var left: [WeakPair] = []
                for _ in 0..<100 {
                    let recorder = Recorder()
                    var request = server.request()
                    if kind == "refused" { request.port = port }
                    request.isSecure = kind == "tls"
                    let stream = recorder.connect(request, on: loop)
                    if kind == "open" {
                        _ = try await recorder.opening()
                        stream.finish()
                    }
                    _ = await recorder.ending()
                    let pair = WeakPair()
                    stream.withStream { pair.stream = $0 }
                    pair.recorder = recorder
                    left.append(pair)
                }
                // The library destroys a connection a turn after its end was reported.
                for _ in 0..<10 where left.contains(where: { !$0.isGone }) {
                    await withCheckedContinuation { continuation in
                        loop.schedule(at: .now + .milliseconds(20)) { continuation.resume() }
                    }
                }
                #expect(left.filter { !$0.isGone }.isEmpty)
            }
        }
    }

    private final class WeakPair: @unchecked Sendable {
        weak var stream: (any ByteStream)?
        weak var recorder: Recorder?

        var isGone: Bool { self.stream == nil && self.recorder == nil }
    }

    @Test(arguments: NetworkBackEnd.builtIn)
    func `writes nothing to standard error`(network: NetworkBackEnd) async {
        let name = network.rawValue
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            [name = name as String] in
            let network = NetworkBackEnd(rawValue: name)
            for _ in 0..<20 {
                let loop = network.makeLoop(name: "test", idleLimit: .zero)
                try await withLoop(loop) { loop in
                    let recorder = Recorder()
                    _ = recorder.connect(StreamRequest(host: "127.0.0.1", port: 1, isSecure: true), on: loop)
                    _ = await recorder.ending()
                    await hop(loop)
                }
                loop.execute {}
            }
        }
        #expect(result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) } == "")
    }

    @Test(arguments: NetworkBackEnd.builtIn)
    func `costs little to start, because TLS and the system's authorities wait for the first secure stream`(
        network: NetworkBackEnd
    ) async {
        let name = network.rawValue
        await #expect(processExitsWith: .success) { [name = name as String] in
            let network = NetworkBackEnd(rawValue: name)
            let begin = processTime()
            try await withLoop(network.makeLoop(name: "test")) { loop in await hop(loop) }
            let first = processTime()
            try await withLoop(network.makeLoop(name: "test")) { loop in
                let recorder = Recorder()
                _ = recorder.connect(StreamRequest(host: "127.0.0.1", port: 1, isSecure: true), on: loop)
                _ = await recorder.ending()
            }
            let second = processTime()
            // The authorities take several times as much as all the rest.
            try #require((first - begin) * 2 < second - first)
        }
    }
}
