@testable internal import LinkspanMessaging
internal import Linkspan
internal import LinkspanLifecycle
internal import LinkspanRuntime
internal import LinkspanTesting
internal import TestSupport
internal import Testing

@Suite("Signals of the network path and the app's phase", .timeLimit(.minutes(1)))
struct SignalSourceTests {
    private static let gone = NetworkEvent(status: .unsatisfied)
    private static let wifi = NetworkEvent(status: .satisfied, interfaces: [.wifi])
    private static let both = NetworkEvent(status: .satisfied, interfaces: [.wifi, .cellular])
    private static let cellular = NetworkEvent(status: .satisfied, interfaces: [.cellular])

    struct Story: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let events: [NetworkEvent]
        let signals: [KeeperSignal]
    }

    @Test(arguments: [
        Story(testDescription: "there at first", events: [wifi], signals: [.pathAvailable]),
        Story(testDescription: "away at first", events: [gone], signals: [.pathLost]),
        Story(testDescription: "said twice", events: [wifi, wifi, gone, gone], signals: [.pathAvailable, .pathLost]),
        Story(
            testDescription: "gone and back", events: [wifi, gone, wifi],
            signals: [.pathAvailable, .pathLost, .pathAvailable]),
        Story(
            testDescription: "one way more", events: [wifi, both], signals: [.pathAvailable, .pathAvailable]),
        Story(
            testDescription: "the way in use has gone, another is there", events: [both, cellular],
            signals: [.pathAvailable, .pathLost, .pathAvailable]),
        Story(
            testDescription: "only the price has changed",
            events: [wifi, NetworkEvent(status: .satisfied, interfaces: [.wifi], isExpensive: true)],
            signals: [.pathAvailable]),
        Story(
            testDescription: "there on demand", events: [gone, NetworkEvent(status: .needsConnection)],
            signals: [.pathLost, .pathAvailable]),
    ])
    func `events of the path become signals if they change something for a connection`(story: Story) {
        var translation = PathTranslation()
        #expect(story.events.flatMap { translation.signals(for: $0) } == story.signals)
    }

    @Test
    func `events of the app become the signals foreground and background`() {
        #expect(KeeperSignal(.didBecomeActive) == .foreground)
        #expect(KeeperSignal(.willEnterForeground(away: nil)) == .foreground)
        #expect(KeeperSignal(.didEnterBackground(grace: nil)) == .background)
        #expect(KeeperSignal(.willResignActive) == nil)
    }

    /// Whether the next attempt is due soon: then the signal that brings it forward has come.
    private static func isDueSoon(_ handler: ConnectionHandler, _ scheduler: VirtualScheduler) -> Bool {
        guard case .waiting(let until, _) = handler.status.progress else { return false }
        return scheduler.now.duration(to: until) <= .seconds(1)
    }

    @Test
    func `connections save data while the path is constrained that the registry reports`() async throws {
        let scheduler = VirtualScheduler()
        let transport = ScriptedTransport(scheduler: scheduler)
        let services = ServiceRegistry()
        try await services.start()
        let manager = ConnectionManager(options: .init { $0.scheduler = scheduler }, services: services)
        let handler = try ConnectionBuilder("scripted://server").transport(transport).connect(by: manager)
        scheduler.settle()
        func isSaving() -> Bool {
            let count = transport.received.count
            try? handler.send("cursor", replacing: "cursor")
            scheduler.settle()
            defer { scheduler.advance(by: .seconds(1)) }
            return transport.received.count == count
        }
        #expect(!isSaving())
        services.emit(NetworkEvent(status: .satisfied, interfaces: [.wifi], isConstrained: true))
        try await eventually { isSaving() }
        services.emit(Self.wifi)
        try await eventually { !isSaving() }
        await services.stop()
    }

    @Test
    func `a manager follows the sources of its registry`() async throws {
        let scheduler = VirtualScheduler()
        let transport = ScriptedTransport(scheduler: scheduler)
        let services = ServiceRegistry()
        let (paths, path) = AsyncStream.makeStream(of: NetworkEvent.self)
        let (phases, app) = AsyncStream.makeStream(of: AppEvent.self)
        try services.register(paths.service(named: "path")).keep()
        try services.register(phases.service(named: "app")).keep()
        try await services.start()
        let manager = ConnectionManager(
            options: .init {
                $0.scheduler = scheduler
                $0.random = { 0.5 }
            }, services: services)
        let handler = try ConnectionBuilder("scripted://server").transport(transport).connect(by: manager)
        scheduler.settle()
        func next(_ state: ConnectionState) async {
            for await change in handler.stateChanges where change.to == state { return }
        }
        await next(.connected)
        path.yield(Self.gone)
        await next(.reconnecting)
        path.yield(Self.wifi)
        await scheduler.run { Self.isDueSoon(handler, scheduler) }
        scheduler.advance(by: .seconds(2))
        await next(.connected)
        app.yield(.didEnterBackground(grace: nil))
        // However long the signal takes: nothing else is brought about by the time that passes meanwhile.
        try await eventually(turn: { scheduler.advance(by: .seconds(30)) }) { handler.status.progress == .suspended }
        await next(.disconnected)
        #expect(handler.status.progress == .suspended)
        app.yield(.willEnterForeground(away: nil))
        await next(.reconnecting)
        _ = await services.stop()
    }
}
