internal import Linkspan
internal import LinkspanInMemory
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

/// A connection that a third party could have written: public API only, always up, and everything comes back.
private final class MirrorConnection: ManagedConnection {
    private struct State: Sendable {
        var state = ConnectionState.created
        var listeners: [UInt64: (event: String?, handler: @Sendable (Message) -> Void)] = [:]
        var observers: [UInt64: @Sendable (StatusChange) -> Void] = [:]
        var latest: StateChange?
        var lastID: UInt64 = 0
    }

    let scheduler: any Scheduler = SystemScheduler.shared
    private let url: ConnectionURL
    private let guarded = Lock(State())

    init(url: ConnectionURL) { self.url = url }

    var status: ConnectionStatus { ConnectionStatus(url: self.url, state: self.guarded.withLock { $0.state }) }

    func connect() throws(LinkspanError) { self.change(to: .connected, .established(LinkInfo())) }
    func disconnect() throws(LinkspanError) { self.change(to: .disconnected, .requested) }
    func release() throws(LinkspanError) { self.change(to: .released, .requested) }
    func end(_ error: LinkspanError?) {
        self.change(to: .disconnected, .unoccupied)
        self.change(to: .released, .requested)
    }
    func settle(within limit: Duration) async {}
    func suspend(_ reason: LinkspanError, patience: Duration?) {}
    func resume(within spread: Duration) {}
    func adjust(_ options: ConnectionOptions) throws(LinkspanError) { throw Self.unsupported }
    func move(to configuration: ConnectionConfiguration) throws(LinkspanError) { throw Self.unsupported }
    var commands: [Command] { get async { [] } }
    func cancelCommands(where isMeant: @escaping @Sendable (Command) -> Bool) {}
    func onAnyOutgoing(_ handler: @escaping @Sendable (Command) -> Void) throws(LinkspanError) -> Subscription {
        throw Self.unsupported
    }
    func awaitOutcomes(of ids: Set<Command.ID>, within limit: Duration) async {}
    private static let unsupported = LinkspanError(.unsupported, "not in this test")
    func cancel(_ id: Command.ID) {}

    func perform(_ command: Command) throws(LinkspanError) {
        let listeners = self.guarded.withLock { Array($0.listeners.values) }
        let message = Message(event: command.event, payload: command.payload)
        for listener in listeners where listener.event ?? command.event == command.event { listener.handler(message) }
        command.finish(.success(command.payload))
    }

    func subscribe(
        to event: String?, once: Bool, onMark: (@Sendable (Continuity) -> Void)?,
        _ handler: @escaping @Sendable (Message) -> Void
    ) throws(LinkspanError) -> Subscription {
        let id = self.guarded.withLock { state in
            state.lastID += 1
            state.listeners[state.lastID] = (event, handler)
            return state.lastID
        }
        return Subscription { [weak self] in self?.guarded.withLock { $0.listeners[id] = nil } }
    }

    func onStatusChange(_ handler: @escaping @Sendable (StatusChange) -> Void) -> Subscription {
        let (id, latest) = self.guarded.withLock { state in
            state.lastID += 1
            state.observers[state.lastID] = handler
            return (state.lastID, state.latest)
        }
        if let latest { handler(.state(latest)) }
        return Subscription { [weak self] in self?.guarded.withLock { $0.observers[id] = nil } }
    }

    private func change(to next: ConnectionState, _ reason: StateChange.Reason) {
        let (change, observers) = self.guarded.withLock { state in
            let change = StateChange(
                sequence: (state.latest?.sequence ?? 0) + 1, from: state.state, to: next, reason: reason, attempt: 1,
                time: .now)
            state.state = next
            state.latest = change
            return (change, Array(state.observers.values))
        }
        for observer in observers { observer(.state(change)) }
    }
}

private struct MirrorFactory: ConnectionFactory {
    func makeConnection(_ configuration: ConnectionConfiguration) -> any ManagedConnection {
        MirrorConnection(url: configuration.url)
    }
}

@Suite("A third party's connections", .timeLimit(.minutes(1)))
struct FactoryTests {
    private let manager = ConnectionManager(
        options: .init {
            $0.factory = MirrorFactory()
        })

    private func connect() throws(LinkspanError) -> ConnectionHandler {
        let transport = InMemoryTransport(hub: InMemoryHub(executor: TestExecutor()))
        return try ConnectionBuilder("memory://mirror").transport(transport).connect(by: self.manager)
    }

    @Test
    func `work behind the same handler, sequences included`() async throws {
        let handler = try self.connect()
        for await change in handler.stateChanges where change.to == .connected { break }
        let stream = try handler.events("hello")
        let reply = try await handler.request("hello", "world").decode(String.self)
        #expect(reply == "world")
        var iterator = stream.makeAsyncIterator()
        let element = await iterator.next()
        #expect(try element?.message.decode(String.self) == "world")
        await self.manager.shutdown()
        #expect(await iterator.next() == nil, "the stream ends when the connection is released")
    }

    @Test
    func `the end of a holder is told, although they take no requests`() async throws {
        let (handler, recorder) = (try self.connect(), EventRecorder())
        let mark = ThreadMark()
        let note: @Sendable (String) -> Void = { end in
            recorder.note(mark.isSet(to: recorder) ? "\(end) within the call" : end)
        }
        handler.onEnd { note("ended") }
        #expect(recorder.notes.isEmpty)
        mark.set(to: recorder) { handler.release() }
        try await recorder.wait(for: "the end") { _ in !recorder.notes.isEmpty }
        mark.set(to: recorder) { _ = handler.onEnd { note("late") } }
        try await recorder.wait(for: "the end that was there before") { _ in recorder.notes.count == 2 }
        #expect(recorder.notes == ["ended", "late"])
        await self.manager.shutdown()
    }
}
