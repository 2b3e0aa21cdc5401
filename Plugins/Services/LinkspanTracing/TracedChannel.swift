public import Linkspan
public import LinkspanRuntime
public import Tracing

/// A channel that makes a span of every command, in the trace of its caller.
///
/// ```swift
/// let channel = try messaging.connect().traced()
/// let reply = try await channel.request("history", room)
/// ```
///
/// Spans are called `linkspan send`, `linkspan request` and `linkspan deliver`, are of the kind `client`, and last from
/// the call to the outcome: until the transport has taken a `send`, until the reply has come otherwise. Their attributes
/// are those of ``TracingService``; a failure has the error's code. Nothing about the trace is sent to the server.
public final class TracedChannel: MessageChannel {
    private let base: any MessageChannel
    private let tracer: any Tracer
    /// The caller's commands that have not ended, and the commands that stand for them in the channel.
    private let inner = Lock<[Command.ID: Command.ID]>([:])

    /// Wraps a channel.
    ///
    /// - Parameters:
    ///   - base: the channel.
    ///   - tracer: where spans go; nil for the tracer of the process, as it is now.
    public init(_ base: any MessageChannel, tracer: (any Tracer)? = nil) {
        self.base = base
        self.tracer = tracer ?? InstrumentationSystem.tracer
    }

    /// Takes a command, and makes a span that ends with its outcome.
    ///
    /// - Throws: ``/Linkspan/LinkspanError`` as the channel's own `perform` does; the span has failed then.
    public func perform(_ command: Command) throws(LinkspanError) {
        let span = self.tracer.startSpan("linkspan \(command.kind.word)", ofKind: .client)
        span.updateAttributes {
            $0.merge(
                .message(command.event, bytes: command.payload.byteCount, endpoint: self.base.url.redacted))
        }
        let traced = Command(
            command.kind, event: command.event, payload: command.payload, timeout: command.timeout,
            isVolatile: command.isVolatile, key: command.key
        ) { [weak self] outcome in
            self?.inner.withLock { $0[command.id] = nil }
            if case .failure(let error) = outcome { span.fail(error.code.rawValue) }
            span.end()
            command.finish(outcome)
        }
        self.inner.withLock { $0[command.id] = traced.id }
        do throws(LinkspanError) {
            try self.base.perform(traced)
        } catch {
            self.inner.withLock { $0[command.id] = nil }
            span.fail(error.code.rawValue)
            span.end()
            throw error
        }
    }

    /// Gives up a command.
    public func cancel(_ id: Command.ID) {
        // One that is not known has ended, or was made by another who shares the connection.
        self.base.cancel(self.inner.withLock { $0[id] } ?? id)
    }

    /// The commands that have not had their outcome, in the order in which they were made.
    public var commands: [CommandStatus] {
        get async {
            let commands = await self.base.commands
            let outer = self.outer
            return commands.map { $0.known(by: outer) }
        }
    }

    /// Cancels the commands for which `isMeant` returns true.
    public func cancelCommands(where isMeant: @escaping @Sendable (CommandStatus) -> Bool) {
        let outer = self.outer
        self.base.cancelCommands { isMeant($0.known(by: outer)) }
    }

    private var outer: [Command.ID: Command.ID] {
        self.inner.withLock { inner in
            Dictionary(inner.map { ($0.value, $0.key) }, uniquingKeysWith: { first, _ in first })
        }
    }
}

// MARK: - All else is the channel's own

extension TracedChannel {
    /// The endpoint.
    public var url: ConnectionURL { self.base.url }
    /// The present state.
    public var state: ConnectionState { self.base.state }
    /// What it is doing inside its state.
    public var progress: ConnectionProgress { self.base.progress }
    /// The state as a sequence.
    public var stateChanges: StateChanges { self.base.stateChanges }
    /// Commands that wait to be sent or, for deliveries, to be answered.
    public var waitingCommands: Int { self.base.waitingCommands }
    /// What the connection is doing, why, and what happens next.
    public var diagnosis: ConnectionDiagnosis { self.base.diagnosis }
    /// What a later process can go on with.
    public var resumption: Resumption? { self.base.resumption }
    /// The clock by which waits through this channel are timed.
    public var scheduler: any Scheduler { self.base.scheduler }

    /// Begins to connect, or to reconnect.
    ///
    /// - Throws: ``/Linkspan/LinkspanError`` with code `wrongState`.
    public func connect() throws(LinkspanError) { try self.base.connect() }

    /// Disconnects and stays so.
    ///
    /// - Throws: ``/Linkspan/LinkspanError`` with code `wrongState`.
    public func disconnect() throws(LinkspanError) { try self.base.disconnect() }

    /// Listens for one event, or for every event when `event` is nil.
    ///
    /// - Throws: ``/Linkspan/LinkspanError`` with code `released`.
    public func subscribe(
        to event: String?, _ handler: @escaping @Sendable (Message) -> Void
    ) throws(LinkspanError) -> Subscription { try self.base.subscribe(to: event, handler) }

    /// Hears of each state change, in order.
    public func onStateChange(_ handler: @escaping @Sendable (StateChange) -> Void) -> Subscription {
        self.base.onStateChange(handler)
    }

    /// Listens for one event, or for every event when `event` is nil, and for the marks between its messages.
    ///
    /// - Throws: ``/Linkspan/LinkspanError`` with code `released`.
    @discardableResult
    public func onItems(
        _ event: String?, _ handler: @escaping @Sendable (EventItem) -> Void
    ) throws(LinkspanError) -> Subscription { try self.base.onItems(event, handler) }

    /// Calls `handler` with one message of an event.
    ///
    /// - Throws: ``/Linkspan/LinkspanError`` with code `released`.
    @discardableResult
    public func once(
        _ event: String, _ handler: @escaping @Sendable (Message) -> Void
    ) throws(LinkspanError) -> Subscription { try self.base.once(event, handler) }

    /// Hears every command that a link takes.
    ///
    /// - Throws: ``/Linkspan/LinkspanError`` with code `released` or `unsupported`.
    @discardableResult
    public func onAnyOutgoing(
        _ handler: @escaping @Sendable (OutgoingMessage) -> Void
    ) throws(LinkspanError) -> Subscription { try self.base.onAnyOutgoing(handler) }

    /// Calls `handler` once when nothing more comes through this channel.
    @discardableResult
    public func onEnd(_ handler: @escaping @Sendable () -> Void) -> Subscription { self.base.onEnd(handler) }

    /// Messages of one event, or of all when `event` is nil, and the marks between them as a sequence.
    ///
    /// - Throws: ``/Linkspan/LinkspanError`` with code `released`.
    public func events(
        _ event: String?, capacity: Int, overflow: EventStream.Overflow
    ) throws(LinkspanError) -> EventStream { try self.base.events(event, capacity: capacity, overflow: overflow) }
}

extension MessageChannel {
    /// The channel, with a span for every command.
    ///
    /// - Parameter tracer: where spans go; nil for the tracer of the process, as it is now.
    /// - Returns: the wrapped channel.
    public func traced(by tracer: (any Tracer)? = nil) -> TracedChannel { TracedChannel(self, tracer: tracer) }
}

extension Command.Kind {
    fileprivate var word: String {
        switch self {
        case .send: "send"
        case .request: "request"
        case .deliver: "deliver"
        }
    }
}

extension CommandStatus {
    /// The status under the identity that the caller knows.
    fileprivate func known(by outer: [Command.ID: Command.ID]) -> Self {
        var status = self
        status.id = outer[self.id] ?? self.id
        return status
    }
}
