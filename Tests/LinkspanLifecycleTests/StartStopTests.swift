internal import LinkspanLifecycle
internal import Testing

@Suite(.timeLimit(.minutes(1)))
struct StartStopTests {
    @Test("starts in the order of needs and stops in the exact reverse")
    func order() async throws {
        let journal = Journal()
        let registry = ServiceRegistry()
        try registry.register(Probe("c", in: journal) { $0.placement.needs = [.hard("b")] }).keep()
        try registry.register(Probe("b", in: journal) { $0.placement.needs = [.hard("a")] }).keep()
        try registry.register(Probe("a", in: journal)).keep()
        let report = try await registry.start()
        #expect(report.waves == [["services.a"], ["services.b"], ["services.c"]])
        let shutdown = await registry.stop()
        #expect(
            journal.all == [
                "start a", "start b", "start c", "quiesce c", "quiesce b", "quiesce a", "stop c", "stop b", "stop a",
            ])
        #expect(shutdown.rows.map { $0.path } == ["services.c", "services.b", "services.a"])
        #expect(shutdown.isClean)
    }

    @Test("delivers events in order, with one consumer")
    func delivery() async throws {
        let registry = ServiceRegistry()
        let listener = Listener("listener")
        try registry.register(listener).keep()
        try await registry.start()
        for index in 0..<100 {
            registry.emit(message("\(index)"))
        }
        await registry.barrier(message("end"))
        #expect(listener.journal.all(with: "message ") == (0..<100).map { "\($0)" } + ["end"])
        await registry.stop()
    }
}
