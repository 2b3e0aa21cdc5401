#if canImport(Glibc)
internal import Glibc
internal import LinkspanLifecycle
internal import LinkspanRuntime
internal import TestSupport
internal import Testing

@Suite("Urgency of services", .timeLimit(.minutes(1)))
struct UrgencyTests {
    /// Notes how nice the threads are on which it is called.
    private struct Nice: AppObserving {
        let name: ServiceName
        let urgency: Urgency
        let journal: Journal

        func start(_ scope: ServiceScope) async throws { self.note("start") }
        func run(_ scope: ServiceScope) async throws { self.note("run") }
        func on(_ event: Stamped<AppEvent>, _ scope: ServiceScope) async throws { self.note("event") }
        func stop(_ scope: ServiceScope) async throws { self.note("stop") }

        private func note(_ step: String) {
            // On Linux 0 means the calling thread.
            let value = getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0)
            self.journal.add("\(self.name) \(step) \(value)")
        }
    }

    @Test
    func `services of urgency utility are called at nice 19, others at the caller's priority`() async throws {
        let journal = Journal()
        let registry = ServiceRegistry()
        let base = getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0)
        try registry.register(Nice(name: "feature", urgency: .normal, journal: journal)).keep()
        try registry.register(Nice(name: "watcher", urgency: .utility, journal: journal)).keep()
        try await registry.start()
        await registry.barrier(AppEvent.didBecomeActive)
        try await eventually { journal.all.filter { $0.contains(" run ") }.count == 2 }
        await registry.stop()
        for step in ["start", "run", "event", "stop"] {
            #expect(journal.all.contains("feature \(step) \(base)"))
            #expect(journal.all.contains("watcher \(step) 19"))
        }
    }
}
#endif
