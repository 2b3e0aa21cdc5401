internal import LinkspanLifecycle
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
        try registry.register(SourceService("app", source)).keep()
        #expect(try await registry.start().waves == [["services.app"], ["services.follower"]])
        await eventually { journal.all.count == 1 }
        sink.yield(.willResignActive)
        await eventually { journal.all.count == 2 }
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
        let harmless = UnixSignalSource.Signal(rawValue: SIGWINCH)
        try registry.register(SourceService("signals", UnixSignalSource([harmless]))).keep()
        try await registry.start()
        while journal.all.isEmpty {
            kill(getpid(), SIGWINCH)
            await Task.yield()
        }
        #expect(journal.all.first == "willTerminate(reason: \"signal \(SIGWINCH)\", grace: nil)")
        #expect(await registry.stop().isClean)
        var action = sigaction()
        sigaction(SIGWINCH, nil, &action)
        #if canImport(Glibc)
        #expect(action.__sigaction_handler.sa_handler == nil)
        #endif
    }
}
