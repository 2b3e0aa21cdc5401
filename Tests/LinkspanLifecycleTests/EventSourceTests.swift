internal import Foundation
internal import LinkspanLifecycle
internal import TestSupport
internal import Testing

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Darwin)
internal import Darwin
#endif

private struct PhaseFollower: AppObserving {
    let name: ServiceName = "follower"
    let journal: Journal

    func on(_ event: Stamped<AppEvent>, _ scope: ServiceScope) async throws {
        self.journal.add("\(event.event)")
    }
}

@Suite(.timeLimit(.minutes(1)), .serialized)
struct EventSourceTests {
    @Test
    func `events of a source reach the services, those sent before it ran included`() async throws {
        let registry = ServiceRegistry()
        let (source, sink) = AsyncStream.makeStream(of: AppEvent.self)
        let journal = Journal()
        sink.yield(.didBecomeActive)
        try registry.register(PhaseFollower(journal: journal)).keep()
        try registry.register(source.service(named: "app")).keep()
        #expect(try await registry.start().waves == [["services.app"], ["services.follower"]])
        try await eventually { journal.all.count == 1 }
        sink.yield(.willResignActive)
        try await eventually { journal.all.count == 2 }
        #expect(journal.all == ["didBecomeActive", "willResignActive"])
        #expect(await registry.stop().isClean)
        sink.yield(.didBecomeActive)
        #expect(journal.all.count == 2)
    }

    @Test
    func `a signal becomes an event, and the former disposition is restored`() async throws {
        let registry = ServiceRegistry()
        let journal = Journal()
        try registry.register(PhaseFollower(journal: journal)).keep()
        // Not one that would end the tests if it were not caught.
        try registry.register(UnixSignalSource([SIGWINCH]).service(named: "signals")).keep()
        try await registry.start()
        try await eventually(turn: { kill(getpid(), SIGWINCH) }) { !journal.all.isEmpty }
        #expect(journal.all.first == "willTerminate(reason: \"signal \(SIGWINCH)\", grace: nil)")
        var action = sigaction()
        sigaction(SIGWINCH, nil, &action)
        #expect(Int(action.sa_flags) & Int(SA_RESTART) != 0, "a call that waits goes on after the signal")
        #expect(await registry.stop().isClean)
        sigaction(SIGWINCH, nil, &action)
        #if canImport(Glibc)
        #expect(action.__sigaction_handler.sa_handler == nil)
        #endif
    }

    /// Runs a source of SIGWINCH until it has reported one, which this process sends to itself again and again.
    private static func hear(_ source: UnixSignalSource) async throws {
        let (signals, signal) = AsyncStream.makeStream(of: AppEvent.self)
        let run = Task { try await source.run { signal.yield($0) } }
        let sending = Task {
            while !Task.isCancelled {
                kill(getpid(), SIGWINCH)
                try await Task.sleep(for: .milliseconds(1))
            }
        }
        for await _ in signals { break }
        sending.cancel()
        run.cancel()
        try await run.value
    }

    @Test
    func `a source of signals without a descriptor fails, and works once there is one`() async {
        await #expect(processExitsWith: .success) {
            var limit = rlimit(rlim_cur: 64, rlim_max: 64)
            #if canImport(Glibc)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            #else
            setrlimit(RLIMIT_NOFILE, &limit)
            #endif
            var taken: [Int32] = []
            while case let descriptor = dup(0), descriptor >= 0 { taken.append(descriptor) }
            let source = UnixSignalSource([SIGWINCH])
            await #expect(throws: ResourceShortage.self) { try await source.run { _ in } }
            for descriptor in taken { close(descriptor) }
            try await Self.hear(source)
        }
    }

    #if canImport(Glibc)
    @Test
    func `sources of signals share a thread and a pipe, which other programs do not inherit and no handler waits for`()
        async
    {
        await #expect(processExitsWith: .success) {
            let descriptors: Range<Int32> = 0..<64
            let known = descriptors.filter { fcntl($0, F_GETFD) >= 0 }
            for _ in 0..<2 { try await Self.hear(UnixSignalSource([SIGWINCH])) }
            let pipe = descriptors.filter { descriptor in
                var status = stat()
                guard !known.contains(descriptor), fstat(descriptor, &status) == 0 else { return false }
                return status.st_mode & S_IFMT == S_IFIFO
            }
            try #require(pipe.count == 2)
            try #require(pipe.allSatisfy { fcntl($0, F_GETFD) & FD_CLOEXEC != 0 })
            try #require(pipe.contains { fcntl($0, F_GETFL) & O_NONBLOCK != 0 })
            let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")
                .map { try String(contentsOfFile: "/proc/self/task/\($0)/comm", encoding: .utf8) }
            try #require(threads.count { $0.hasPrefix("linkspan.signal") } == 1)
        }
    }

    @Test
    func `a source of signals without a thread fails`() async {
        await #expect(processExitsWith: .success) {
            _ = try ThreadShortage()
            let source = UnixSignalSource([SIGWINCH])
            await #expect(throws: ResourceShortage.self) { try await source.run { _ in } }
        }
    }
    #endif
}
