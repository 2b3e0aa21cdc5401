import Foundation
import LinkspanNetwork
import LinkspanRuntime
import TestedBackEnds
import Testing

@Suite("A loop that rests", .timeLimit(.minutes(1)), .overEachBackEnd)
struct IdleLoopTests {
    private static let name = "idle-test"

    /// The number of the process's threads that are named after the loop, or as SwiftNIO names the threads it starts.
    private static var threads: Int {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return tasks.filter { task in
            let name = try? String(contentsOfFile: "/proc/self/task/\(task)/comm", encoding: .utf8)
            return name == "\(Self.name)\n" || name?.hasPrefix("NIO-ELT-") == true
        }.count
    }

    /// Waits until the loop has no thread; the suite's time limit bounds it.
    private func rest() async throws {
        while Self.threads > 0 { try await Task.sleep(for: .milliseconds(1)) }
    }

    @Test
    func `has no thread before its first use and after its last, and one in between, again and again`() async throws {
        try await withServer(EchoTests.echo) { server in
            let loop = makeLoop(name: Self.name, idleLimit: .milliseconds(20))
            #expect(Self.threads == 0)
            for _ in 0..<5 {
                let recorder = Recorder()
                let stream = recorder.connect(server.request(), on: loop)
                _ = try await recorder.opening()
                // Many limits long, with a stream that is open and silent.
                try await Task.sleep(for: .milliseconds(100))
                #expect(Self.threads == 1)
                stream.write { $0 += [1, 2, 3] }
                #expect(try await recorder.bytes(3) == [1, 2, 3])
                stream.finish()
                #expect(await recorder.ending().code == .closedByUs)
                try await self.rest()
            }
            loop.shutdown()
        }
    }

    @Test
    func `stays for a timer, and not for one that is cancelled`() async throws {
        let loop = makeLoop(name: Self.name, idleLimit: .milliseconds(1))
        let (fired, fire) = AsyncStream.makeStream(of: Void.self)
        loop.schedule(at: .now + .milliseconds(60)) { fire.yield() }
        #expect(await fired.first { true } != nil)
        try await self.rest()
        loop.execute {
            loop.schedule(at: .now + .seconds(3_000)) { Issue.record("a cancelled timer ran") }.cancel()
        }
        try await self.rest()
        loop.shutdown()
    }

    @Test
    func `runs every job that is given while it goes to rest, once and in order, by one thread at a time`() async throws
    {
        let loop = makeLoop(name: Self.name, idleLimit: .zero)
        let rounds = 5_000
        let counts = Lock([0, 0, 0])
        let inside = Lock(0)
        await withDiscardingTaskGroup { group in
            for task in 0..<3 {
                group.addTask {
                    for round in 0..<rounds {
                        await withCheckedContinuation { continuation in
                            loop.execute {
                                #expect(loop.isCurrent)
                                #expect(
                                    inside.withLock {
                                        $0 += 1; return $0
                                    } == 1)
                                counts.withLock { counts in
                                    #expect(counts[task] == round)
                                    counts[task] += 1
                                }
                                inside.withLock { $0 -= 1 }
                                continuation.resume()
                            }
                        }
                        // So that the loop often finds nothing to do, and often something at the last moment.
                        for _ in 0..<(round % 64 * 8) { _ = loop.isCurrent }
                    }
                }
            }
        }
        #expect(counts.withLock { $0 } == [rounds, rounds, rounds])
        try await self.rest()
        loop.shutdown()
    }

    @Test
    func `opens streams that are begun while it goes to rest`() async throws {
        try await withServer(EchoTests.echo) { server in
            let loop = makeLoop(name: Self.name, idleLimit: .zero)
            for round in 0..<300 {
                let recorder = Recorder()
                let stream = recorder.connect(server.request(), on: loop)
                if round % 3 == 0 { stream.abort() } else { stream.write { $0 += [9] } }
                if round % 3 != 0 { #expect(try await recorder.bytes(1) == [9]) }
                stream.abort()
                #expect(await recorder.ending().code == .closedByUs)
            }
            try await self.rest()
            loop.shutdown()
        }
    }

    @Test
    func `can be shut down at any moment, and forgotten without`() async throws {
        for round in 0..<200 {
            let loop = makeLoop(name: Self.name, idleLimit: .zero)
            if round % 4 > 0 { loop.execute {} }
            if round % 4 > 1 { await hop(loop) }
            if round % 2 == 0 {
                try await blocking { loop.shutdown() }
                let recorder = Recorder()
                _ = recorder.connect(StreamRequest(host: "127.0.0.1", port: 1, isSecure: false), on: loop)
                #expect(await recorder.ending().code == .loopStopped)
                loop.shutdown()
            }
        }
        try await self.rest()
    }
}
