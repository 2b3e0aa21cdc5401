internal import Linkspan
internal import LinkspanInMemory
internal import LinkspanLifecycle
@testable internal import LinkspanMessaging
internal import LinkspanRuntime
internal import LinkspanTesting
internal import ServiceFixtures
internal import Testing

@testable internal import LinkspanServices

@Suite("Presence service")
struct PresenceServiceTests {
    private let scheduler = VirtualScheduler()
    private let service = PresenceService(options: PresenceService.Options(awayAfter: .seconds(60)))

    /// A connection over virtual time that the service uses, not yet up.
    private func connected(_ transport: ScriptedTransport) throws -> (ConnectionManager, ConnectionHandler) {
        let manager = ConnectionManager(
            options: .init {
                $0.scheduler = self.scheduler
                $0.random = { 0.5 }
            })
        let configuration = try ConnectionBuilder("scripted://server").transport(transport).build()
        let handler = try manager.connect(configuration)
        try self.service.use(handler)
        return (manager, handler)
    }

    private func told(_ transport: ScriptedTransport) throws -> [String] {
        try transport.received.map { record in
            #expect(record.event == "presence")
            return try JSON(record.payload).status
        }
    }

    /// An announcement as the server reads it.
    private struct JSON {
        var status: String

        init(_ payload: Payload) throws {
            struct Shape: Decodable { var status: String }
            self.status = try payload.decode(Shape.self).status
        }
    }

    @Test
    func `the status is sent after the connect, on change, and after the reconnect`() throws {
        let transport = ScriptedTransport(scheduler: self.scheduler)
        let (manager, _) = try self.connected(transport)
        #expect(self.service.status == .offline)
        self.scheduler.advance(by: .seconds(1))
        #expect(self.service.status == .online)
        #expect(try self.told(transport) == ["online"])
        self.scheduler.advance(by: .seconds(60))
        #expect(self.service.status == .away)
        #expect(try self.told(transport) == ["online", "away"])
        transport.peers.last?.drop()
        self.scheduler.settle()
        #expect(self.service.status == .offline)
        self.scheduler.advance(by: .seconds(10))
        #expect(try self.told(transport) == ["online", "away", "away"])
        self.service.noteActivity()
        self.scheduler.settle()
        #expect(try self.told(transport) == ["online", "away", "away", "online"])
        withExtendedLifetime(manager) {}
    }

    @Test
    func `activity puts being away off, and is not announced each time`() throws {
        let transport = ScriptedTransport(scheduler: self.scheduler)
        let (manager, _) = try self.connected(transport)
        for _ in 0..<10 {
            self.scheduler.advance(by: .seconds(50))
            self.service.noteActivity()
        }
        #expect(try self.told(transport) == ["online"])
        self.scheduler.advance(by: .seconds(59))
        #expect(self.service.status == .online)
        self.scheduler.advance(by: .seconds(1))
        #expect(self.service.status == .away)
        withExtendedLifetime(manager) {}
    }

    @Test
    func `shorter patience takes hold at once`() throws {
        let transport = ScriptedTransport(scheduler: self.scheduler)
        let (manager, _) = try self.connected(transport)
        self.scheduler.advance(by: .seconds(30))
        self.service.options = PresenceService.Options(awayAfter: .seconds(40), event: "presence")
        self.scheduler.advance(by: .seconds(11))
        #expect(try self.told(transport) == ["online", "away"])
        self.service.noteActivity()
        self.service.options = PresenceService.Options(awayAfter: .zero, event: "presence")
        self.scheduler.advance(by: .seconds(1))
        #expect(try self.told(transport) == ["online", "away", "online", "away"])
        withExtendedLifetime(manager) {}
    }

    @Test(.timeLimit(.minutes(1)))
    func `app phases and sent messages count; offline is sent on stop`() async throws {
        let transport = ScriptedTransport(scheduler: self.scheduler)
        let (manager, _) = try self.connected(transport)
        self.scheduler.advance(by: .seconds(1))
        let registry = ServiceRegistry()
        try registry.register(self.service).keep()
        try await registry.start()
        await registry.barrier(AppEvent.didEnterBackground(grace: nil))
        self.scheduler.settle()
        #expect(try self.told(transport) == ["online", "away"])
        await registry.barrier(AppEvent.willEnterForeground(away: nil))
        self.scheduler.advance(by: .seconds(61))
        #expect(try self.told(transport) == ["online", "away", "online", "away"])
        var totals = TrafficEvent.Totals()
        totals.sent = 1
        await registry.barrier(TrafficEvent(connection: 1, event: "presence", totals: totals))
        (totals.sent, totals.received) = (0, 1)
        await registry.barrier(TrafficEvent(connection: 1, event: "chat", totals: totals))
        #expect(self.service.status == .away)
        totals.sent = 1
        await registry.barrier(TrafficEvent(connection: 1, event: "chat", totals: totals))
        #expect(self.service.status == .online)
        let report = await registry.stop()
        #expect(report.isClean)
        self.scheduler.settle()
        #expect(try self.told(transport).suffix(2) == ["online", "offline"])
        // Nothing of it is left behind.
        self.scheduler.advance(by: .seconds(600))
        #expect(try self.told(transport).last == "offline")
        withExtendedLifetime(manager) {}
    }

    @Test(.timeLimit(.minutes(1)))
    func `a service that was stopped announces the status over its next connection, and that one alone`() async throws {
        let former = ScriptedTransport(scheduler: self.scheduler)
        let (manager, handler) = try self.connected(former)
        self.scheduler.advance(by: .seconds(1))
        let registry = ServiceRegistry()
        try registry.register(self.service).keep()
        try await registry.start()
        #expect(await registry.stop().isClean)
        self.scheduler.settle()
        former.peers.last?.drop()
        self.scheduler.advance(by: .seconds(10))
        #expect(try self.told(former) == ["online", "offline"])
        let next = ScriptedTransport(scheduler: self.scheduler)
        let (nextManager, _) = try self.connected(next)
        #expect(self.service.status == .offline)
        self.scheduler.advance(by: .seconds(1))
        #expect(self.service.status == .online)
        #expect(try self.told(next) == ["online"])
        self.scheduler.advance(by: .seconds(60))
        #expect(try self.told(next) == ["online", "away"])
        withExtendedLifetime((manager, handler, nextManager)) {}
    }

    @Test
    func `a status that changes while one is being sent follows it`() throws {
        let connection = try OpenConnection()
        connection.onPerform.withLock { $0 = { [service] in service.options = .init(awayAfter: .zero) } }
        try self.service.use(connection)
        #expect(connection.sent.withLock { $0 } == ["online", "away"])
    }

    @Test(.timeLimit(.minutes(1)))
    func `an announcement that is refused is due again, and holds up no stop`() async throws {
        let connection = try OpenConnection()
        connection.isRefusing.withLock { $0 = true }
        try self.service.use(connection)
        connection.isRefusing.withLock { $0 = false }
        self.service.noteActivity()
        #expect(connection.sent.withLock { $0 } == ["online"])
        connection.isRefusing.withLock { $0 = true }
        let registry = ServiceRegistry()
        try registry.register(self.service).keep()
        try await registry.start()
        #expect(await registry.stop().isClean)
    }

    @Test(.timeLimit(.minutes(1)))
    func `a service that was stopped has no timer`() async throws {
        let connection = try OpenConnection()
        let scheduler = try #require(connection.scheduler as? VirtualScheduler)
        try self.service.use(connection)
        #expect(scheduler.pendingCount == 1)
        let registry = ServiceRegistry()
        try registry.register(self.service).keep()
        try await registry.start()
        #expect(await registry.stop().isClean)
        #expect(scheduler.pendingCount == 0)
    }

    @Test
    func `nobody who has left becomes idle`() {
        var machine = PresenceStateMachine(awayAfter: .seconds(60), now: .now)
        #expect(machine.deadline != nil)
        _ = machine.leave()
        #expect(machine.deadline == nil)
    }

    @Test
    func `an announcement that is refused when another one was made since is not due again`() {
        var machine = PresenceStateMachine(awayAfter: .seconds(60), now: .now)
        #expect(machine.connected() == .online)
        #expect(machine.moved(toFront: false, now: .now) == .away)
        machine.refused(.online)
        #expect(machine.moved(toFront: false, now: .now) == nil)
    }

    @Test
    func `nobody becomes idle in the background, nor earlier for an activity that is told late`() {
        let start = ContinuousClock.now
        var machine = PresenceStateMachine(awayAfter: .seconds(60), now: start)
        for seconds in [10, 5] { _ = machine.active(now: start + .seconds(seconds)) }
        #expect(machine.deadline == start + .seconds(70))
        _ = machine.moved(toFront: false, now: start)
        #expect(machine.deadline == nil)
    }

    @Test
    func `all options of the service change while it runs`() {
        let options = ServiceFactory.presence.options
        #expect(options.map(\.name) == ["awayAfter", "event"])
        #expect(options.map(\.fallback) == ["300", "presence"] && options.allSatisfy { $0.reload == .hot })
        #expect(PresenceService.Options() == .init(awayAfter: .seconds(300), event: "presence"))
    }

    @Test(.timeLimit(.minutes(1)))
    func `without a connection the way out is short`() async throws {
        let report = try await run([self.service]) { _ in }
        #expect(report.isClean)
        #expect(report.rows.count == 1)
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test(.timeLimit(.minutes(1)))
    func `configuration alone switches it on, from the first word to the last`() async throws {
        for isOn in [true, false] {
            let hub = InMemoryHub(executor: TestExecutor())
            let recorder = EventRecorder()
            hub.onConnect { peer in
                peer.onOther { message in
                    let text = (try? message.payload.decode([String: String].self)) ?? [:]
                    recorder.note("\(message.event) \(text["status"] ?? "?")")
                }
                peer.onEnd { recorder.note("end") }
            }
            let section = isOn ? "enabled: [presence]\npresence: {event: here, awayAfter: 90}" : nil
            let messaging = try await Messaging.start(
                MessagingPlan(
                    url: "memory://a", transport: .inMemory(hub), services: try services(.presence, section)))
            let connection = try await messaging.connect()
            if isOn {
                try await recorder.wait(for: "the announcement") { !$0.isEmpty }
            } else {
                for await change in connection.stateChanges where change.to == .connected { break }
            }
            await messaging.stop()
            try await recorder.wait(for: "the end") { entries in entries.contains { $0.summary == "note: end" } }
            #expect(recorder.notes == (isOn ? ["here online", "here offline", "end"] : ["end"]))
        }
    }
}

/// A connection that is up, and sends at once.
final class OpenConnection: Connection {
    let status: ConnectionStatus
    let scheduler: any Scheduler = VirtualScheduler()
    /// The announced statuses, in the order in which they have left.
    let sent = Lock<[String]>([])
    /// Called before the first one leaves.
    let onPerform = Lock<(@Sendable () -> Void)?>(nil)
    /// The subscriptions that were cancelled.
    let cancelled = Lock(0)
    /// Whether each command is refused.
    let isRefusing = Lock(false)
    private let listeners = Lock<[(event: String?, handler: @Sendable (Message) -> Void)]>([])
    private let marks = Lock<[@Sendable (Continuity) -> Void]>([])

    init() throws { self.status = .init(url: try .init("open://server"), state: .connected) }

    func perform(_ command: Command) throws(LinkspanError) {
        guard !self.isRefusing.withLock({ $0 }) else { throw LinkspanError(.bufferFull, "there is no room") }
        self.onPerform.withLock { $0.take() }?()
        self.sent.withLock { $0.append(command.payload[0]?["status"]?.string ?? "?") }
        command.finish(.success(.empty))
    }

    func onStatusChange(_ handler: @escaping @Sendable (StatusChange) -> Void) -> Subscription {
        let change = StateChange(from: .created, to: .connected, reason: .requested, attempt: 1, time: .now)
        handler(.state(change))
        return Subscription {}
    }

    func cancel(_ id: Command.ID) {}
    func subscribe(
        to event: String?, once: Bool, onMark: (@Sendable (Continuity) -> Void)?,
        _ handler: @escaping @Sendable (Message) -> Void
    ) throws(LinkspanError) -> Subscription {
        self.listeners.withLock { $0.append((event, handler)) }
        if let onMark { self.marks.withLock { $0.append(onMark) } }
        return Subscription { [cancelled] in cancelled.withLock { $0 += 1 } }
    }
    func connect() throws(LinkspanError) {}
    func disconnect() throws(LinkspanError) {}

    /// Has the server send an event.
    func emit(_ event: String, _ argument: some Encodable) throws {
        let message = Message(event: event, payload: try Payload(argument))
        for listener in self.listeners.withLock({ $0 }) where listener.event == event { listener.handler(message) }
    }

    /// Tells the listeners of messages that were dropped.
    func drop(_ count: Int) {
        for mark in self.marks.withLock({ $0 }) { mark(.gap(.overflow(missed: count))) }
    }
}

/// A connection over scripted links and virtual time.
struct Scripted {
    let clock = VirtualScheduler()
    let transport: ScriptedTransport
    let connection: ConnectionHandler
    private let manager: ConnectionManager

    init(_ script: @escaping @Sendable (Int) -> LinkScript = { _ in .perfect }) throws {
        let clock = self.clock
        self.transport = ScriptedTransport(scheduler: clock, script: script)
        self.manager = ConnectionManager(
            options: .init {
                $0.scheduler = clock
                $0.random = { 0.5 }
            })
        let configuration = try ConnectionBuilder("scripted://server").transport(self.transport).build()
        self.connection = try self.manager.connect(configuration)
    }

    func emit(_ event: String, _ argument: some Encodable) throws {
        self.transport.openPeers.first?.emit(event, try Payload(argument))
        self.clock.settle()
    }

    /// Loses the link and waits until there is another one.
    func reconnect(saying lines: () throws -> Void = {}) throws {
        self.transport.openPeers.first?.drop()
        self.clock.settle()
        try lines()
        self.clock.advance(by: .seconds(5))
    }
}
