internal import TestSupport
internal import Foundation
internal import Linkspan
internal import LinkspanRuntime
internal import LinkspanSocketIO
internal import Testing

extension Interop {
    /// Many connections at a time.
    @Suite(.overBackEnds) struct ManyConnectionsTests {
        private static var openFiles: Int {
            #if os(Linux)
            let folder = "/proc/self/fd"
            #else
            let folder = "/dev/fd"
            #endif
            return (try? FileManager.default.contentsOfDirectory(atPath: folder).count) ?? 0
        }

        @Test(arguments: [ServerKind.aiohttp, .webSocket])
        func `200 connections connect, get an echo, close, and leave no file open`(_ kind: ServerKind) async throws {
            let count = 200
            try await withServer(kind) { server in
                let before = Self.openFiles
                try await Bench.use { bench in
                    let apart = SocketIOConfiguration { $0.isMultiplexed = false }
                    var clients: [Client] = []
                    for number in 0..<count {
                        // Another query is another connection of the pool.
                        clients.append(
                            kind == .webSocket
                                ? try await bench.webSocket(server, "/envelope?n=\(number)")
                                : try await bench.socketIO(server, "/?n=\(number)", configuration: apart))
                    }
                    for (number, client) in clients.enumerated() { try client.handler.send("echo", number) }
                    for (number, client) in clients.enumerated() {
                        #expect(try await client.values("echo", as: Int.self) == [number])
                        #expect(client.states.entries.map(\.to) == [.connected])
                    }
                    #expect(bench.manager.statistics.count == count)
                    // Other tests of the process open files, too, but not so many.
                    #expect(Self.openFiles >= before + count - 20)
                    for client in clients {
                        try client.handler.disconnect()
                        client.handler.release()
                    }
                }
                #expect(Self.openFiles < before + 20)
            }
        }

        @Test(arguments: [100, 1_000])
        func `connections of one process that lose their server together are all back soon after it is`(_ count: Int)
            async throws
        {
            Herd.raiseDescriptorLimit()
            try await withServer(.aiohttp) { server in
                // With the limits and the chance that every app has.
                try await Bench.use(ConnectionManager()) { bench in
                    let herd = Herd(count)
                    try await herd.gather(at: server, on: bench)
                    herd.watch()
                    await server.stop()
                    try await herd.milestones.first { $0 == .allHaveTried }
                    try await server.start()
                    let began = ContinuousClock.now
                    // That it takes no longer than five seconds is tested in virtual time: this machine may be busy.
                    try await herd.milestones.first { $0 == .allAreBack }
                    print("\(count) connections: \(herd.figures(since: began))")
                }
            }
        }
    }
}

/// Connections of one process, when they begin attempts, and when they are back.
private final class Herd: Sendable {
    enum Milestone: Sendable {
        case allHaveTried, allAreBack
    }

    private struct State: Sendable {
        var clients: [Client] = []
        /// Those that have begun an attempt.
        var tried: Set<Int> = []
        var attempts: [ContinuousClock.Instant] = []
        var returns: [ContinuousClock.Instant] = []
    }

    let milestones = Journal<Milestone>("connections that come back")
    private let count: Int
    private let state = Lock(State())

    init(_ count: Int) { self.count = count }

    /// A connection is a file, here and at the server, which inherits the limit.
    static func raiseDescriptorLimit() {
        var limit = rlimit()
        #if canImport(Glibc)
        let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
        let kind = RLIMIT_NOFILE
        #endif
        getrlimit(kind, &limit)
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 4_096))
        setrlimit(kind, &limit)
    }

    /// Connects them, not more at a time than a server has places for those that wait.
    func gather(at server: PythonServer, on bench: Bench) async throws {
        let apart = SocketIOConfiguration { $0.isMultiplexed = false }
        for first in stride(from: 0, to: self.count, by: 50) {
            var clients: [Client] = []
            for number in first..<min(first + 50, self.count) {
                let client = try await bench.socketIO(server, "/?n=\(number)", configuration: apart) {
                    $0.retry = .standard
                }
                clients.append(client)
            }
            for client in clients { try await client.connected() }
            self.state.withLock { $0.clients += clients }
        }
    }

    /// Notes what they do from now on.
    func watch() {
        for (number, client) in self.state.withLock({ $0.clients }).enumerated() {
            let known = client.handler.status.history.last?.sequence
            client.handler.onStatusChange { [weak self] change in
                switch change {
                case .progress(.opening): self?.tries(number)
                case .state(let change) where change.to == .connected && change.sequence != known: self?.isBack()
                default: ()
                }
            }
        }
    }

    private func tries(_ number: Int) {
        let areAll = self.state.withLock { state in
            state.attempts.append(.now)
            return state.tried.insert(number).inserted && state.tried.count == self.count
        }
        if areAll { self.milestones.append(.allHaveTried) }
    }

    private func isBack() {
        let areAll = self.state.withLock { state in
            state.returns.append(.now)
            return state.returns.count == self.count
        }
        if areAll { self.milestones.append(.allAreBack) }
    }

    /// How long they took, and how many came in the busiest tenth of a second.
    func figures(since began: ContinuousClock.Instant) -> String {
        let (attempts, returns) = self.state.withLock { state in
            (
                Self.seconds(state.attempts, since: began).filter { $0 >= 0 },
                Self.seconds(state.returns, since: began)
            )
        }
        let text = { (seconds: Double) in "\((seconds * 100).rounded() / 100) s" }
        return "back p50 \(text(returns[self.count / 2])), p99 \(text(returns[self.count * 99 / 100])), "
            + "last \(text(returns[self.count - 1])); \(attempts.count) attempts, "
            + "the last after \(attempts.last.map(text) ?? "none"), "
            + "at most \(Self.peak(attempts)) begun and \(Self.peak(returns)) back in 100 ms"
    }

    private static func seconds(_ times: [ContinuousClock.Instant], since began: ContinuousClock.Instant) -> [Double] {
        times.map { began.duration(to: $0) / .seconds(1) }.sorted()
    }

    private static func peak(_ times: [Double]) -> Int {
        times.indices.map { first in times[first...].prefix { $0 < times[first] + 0.1 }.count }.max() ?? 0
    }
}
