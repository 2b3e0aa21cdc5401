internal import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

/// A connection that a third party could have written: public API only, always up, and everything comes back.
private final class MirrorConnection: Connection {
    private struct State: Sendable {
        var state = ConnectionState.created
        var listeners: [UInt64: (event: String?, handler: @Sendable (Message) -> Void)] = [:]
        var observers: [UInt64: @Sendable (StatusChange) -> Void] = [:]
        var subscriptions: [Subscription] = []
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
    func release() { self.change(to: .released, .unoccupied) }

    /// Ends all subscriptions, as a holder does that goes away.
    func giveBack() { for subscription in self.guarded.withLock({ $0.subscriptions }) { subscription.cancel() } }

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
        let subscription = Subscription { [weak self] in self?.guarded.withLock { $0.observers[id] = nil } }
        self.guarded.withLock { $0.subscriptions.append(subscription) }
        return subscription
    }

    private func change(to next: ConnectionState, _ reason: StateChange.Reason) {
        let (change, observers) = self.guarded.withLock { state in
            let change = StateChange(
                from: state.state, to: next, reason: reason, attempt: 1,
                time: .now)
            state.state = next
            state.latest = change
            return (change, Array(state.observers.values))
        }
        for observer in observers { observer(.state(change)) }
    }
}

@Suite("A third party's connection", .timeLimit(.minutes(1)))
struct ForeignConnectionTests {
    @Test
    func `has requests, sequences and ends by its eight requirements`() async throws {
        let connection = MirrorConnection(url: try ConnectionURL("mirror://server"))
        try connection.connect()
        for await change in connection.stateChanges where change.to == .connected { break }
        let stream = try connection.events("hello")
        let reply = try await connection.request("hello", "world").decode(String.self)
        #expect(reply == "world")
        var iterator = stream.makeAsyncIterator()
        let element = await iterator.next()
        #expect(try element?.message.decode(String.self) == "world")
        connection.release()
        #expect(await iterator.next() == nil, "the stream ends when the connection is released")
    }
    @Test
    func `tells the end of a holder outside the call that gives the connection back`() async throws {
        let (connection, recorder) = (MirrorConnection(url: try ConnectionURL("mirror://server")), EventRecorder())
        let mark = ThreadMark()
        connection.onEnd { recorder.note(mark.isSet(to: recorder) ? "ended within the call" : "ended") }
        mark.set(to: recorder) { connection.giveBack() }
        try await recorder.wait(for: "the end") { _ in !recorder.notes.isEmpty }
        #expect(recorder.notes == ["ended"])
    }
}
