internal import LinkspanRuntime

// All of it is made of `subscribe` and `onStatusChange`.

extension Connection {
    /// Calls `handler` with each message of an event, on the connection's executor; see
    /// ``subscribe(to:once:onMark:_:)``.
    ///
    /// For a handler on the main actor, an actor or an executor of yours there is `onEach` of
    /// ``events(_:capacity:bytes:overflow:)``.
    ///
    /// - Throws: ``LinkspanError`` with code `released`.
    @discardableResult
    public func on(
        _ event: String, _ handler: @escaping @Sendable (Message) -> Void
    ) throws(LinkspanError) -> Subscription {
        try self.subscribe(to: event, once: false, onMark: nil, handler)
    }

    /// Calls `handler` with each message of any event, before the listeners of that event.
    ///
    /// - Parameters:
    ///   - first: whether it is called before the listeners of any event that there are.
    ///   - handler: gets the messages.
    /// - Returns: the registration; it lasts whether or not it is kept.
    /// - Throws: ``LinkspanError`` with code `released`.
    @discardableResult
    public func onAny(
        first: Bool = false, _ handler: @escaping @Sendable (Message) -> Void
    ) throws(LinkspanError) -> Subscription {
        let subscription = try self.subscribe(to: nil, once: false, onMark: nil, handler)
        if first { subscription.asks?(.first) }
        return subscription
    }

    // Inlined, so that the result is of a known type: its description is not looked up for each message.
    /// Calls `handler` with each message of an event, its first argument decoded.
    ///
    /// - Parameters:
    ///   - event: the name of the event.
    ///   - type: the type of the first argument.
    ///   - handler: gets the value, or the error of code `decodingFailed` when the argument has another shape.
    /// - Returns: the registration; it lasts whether or not it is kept.
    /// - Throws: ``LinkspanError`` with code `released`.
    @discardableResult
    @inlinable
    public func on<Value: Decodable & Sendable>(
        _ event: String, as type: Value.Type,
        _ handler: @escaping @Sendable (Result<Value, LinkspanError>) -> Void
    ) throws(LinkspanError) -> Subscription {
        try self.on(event) { message in
            handler(Result { () throws(LinkspanError) in try message.decode(type) })
        }
    }

    /// Calls `handler` with one message of an event, the oldest that is held or the next to come, and then never again:
    /// not even when several threads bring messages at once.
    ///
    /// It leaves the event as it found it: as long as nobody listens for longer, the messages behind that one are held
    /// for the next listener.
    ///
    /// - Throws: ``LinkspanError`` with code `released`.
    @discardableResult
    public func once(
        _ event: String, _ handler: @escaping @Sendable (Message) -> Void
    ) throws(LinkspanError) -> Subscription {
        try self.subscribe(to: event, once: true, onMark: nil, handler)
    }

    /// Messages of one event, or of all when `event` is nil, and the marks between them as a sequence.
    ///
    /// - Parameters:
    ///   - event: the name of the event; nil for all.
    ///   - capacity: how many messages wait at most.
    ///   - bytes: the limit for their size together; one message may always wait.
    ///   - overflow: the rule for a message that does not fit.
    /// - Returns: the sequence; it listens while it is referenced, and does not keep the connection.
    /// - Throws: ``LinkspanError`` with code `released`.
    public func events(
        _ event: String?, capacity: Int = 1_024, bytes: Int = 16 << 20,
        overflow: StreamOverflow = .dropOldest
    ) throws(LinkspanError) -> EventStream<(message: Message, missed: Int)> {
        let queue = EventQueue(capacity: capacity, bytes: bytes, overflow: overflow)
        let messages = try self.subscribe(to: event, once: false) { [weak queue] in
            queue?.push($0)
        } _: { [weak queue] in
            queue?.push($0)
        }
        // Taken off by its holder: the stream ends behind what it holds.
        messages.atEnd { [weak queue] in queue?.finish() }
        queue.own(messages)
        queue.own(self.onEnd { [weak queue] in queue?.finish() })
        return EventStream(queue: queue)
    }

    /// Calls `handler` once when nothing more comes through this connection: it was released, or this holder has given
    /// it back.
    ///
    /// Soon when that has happened already, and never within this call.
    @discardableResult
    public func onEnd(_ handler: @escaping @Sendable () -> Void) -> Subscription {
        // Whether the end came before the cancel below.
        let end = Promise<Bool>()
        end.whenFulfilled { if $0 { handler() } }
        let changes = self.onStateChange { if $0.to == .released { end.fulfill(true) } }
        // A holder that gives the connection back ends it, too; the handler is not called within that call.
        let tell: @Sendable () -> Void = { end.fulfill(true) }
        changes.atEnd { [asks = changes.asks, scheduler = self.scheduler] in
            Subscription.call(tell, through: asks, or: scheduler)
        }
        end.whenFulfilled { _ in changes.cancel() }
        return Subscription { end.fulfill(false) }
    }
}

// MARK: - States

extension Connection {
    /// Calls `handler` with each change of state, in order, beginning with the latest if there has been one.
    ///
    /// On the connection's executor; for a handler on the main actor or elsewhere there is `onEach` of
    /// ``stateChanges``.
    @discardableResult
    public func onStateChange(_ handler: @escaping @Sendable (StateChange) -> Void) -> Subscription {
        self.onStatusChange { if case .state(let change) = $0 { handler(change) } }
    }

    /// The state as a sequence: the newest change first of all, then each newer one.
    ///
    /// A slow reader skips states that have passed, never misses the latest, and never sees one twice. The sequence
    /// ends after the change to ``ConnectionState/released``, and when its holder gives the connection back. It is for
    /// one reader, each use makes another, and it does not keep the connection.
    public var stateChanges: AsyncStream<StateChange> {
        let (stream, newest) = AsyncStream.makeStream(of: StateChange.self, bufferingPolicy: .bufferingNewest(1))
        let end = Promise<Void>()
        newest.onTermination = { _ in end.fulfill() }
        let changes = self.onStateChange { change in
            newest.yield(change)
            if change.to == .released { newest.finish() }
        }
        changes.atEnd { newest.finish() }
        end.whenFulfilled { changes.cancel() }
        return stream
    }
}

// MARK: - One message

extension Connection {
    /// Waits for one message of an event: the oldest that is held, or the next to come.
    ///
    /// Exactly one message is taken, and none when this throws. As long as nobody listens to the event for longer, what
    /// comes before the next call is held for it, within the bounds of the hold; a loop over all messages is better
    /// served by ``EventStream``.
    ///
    /// - Parameters:
    ///   - event: the name of the event.
    ///   - timeout: how long to wait; nil for as long as the connection lives.
    /// - Returns: the message.
    /// - Throws: ``LinkspanError``: `timedOut`, `released`, `cancelled`.
    public func next(_ event: String, timeout: Duration? = nil) async throws(LinkspanError) -> Message {
        let cancelled = LinkspanError(.cancelled, "the wait for '\(event)' was cancelled")
        guard !Task.isCancelled else { throw cancelled }
        let box = Promise<Result<Message, LinkspanError>>()
        // What ends the wait: a message that is about to come, or a reason to wait no longer.
        let end = Promise<Result<Void, LinkspanError>>()
        end.whenFulfilled { if case .failure(let error) = $0 { box.fulfill(.failure(error)) } }
        let message = try self.once(event) { box.fulfill(.success($0.detached())) }
        // So that a message which comes too late stays for the next listener.
        message.asks?(
            .confirm {
                end.fulfill(.success(()))
                return if case .success = end.fulfilled { true } else { false }
            })
        let released = LinkspanError(.released, "the connection ended before '\(event)' arrived")
        let connectionEnd = self.onEnd { end.fulfill(.failure(released)) }
        message.atEnd {
            // Taken off, unless that is because everything has ended: then this is called at once.
            self.onEnd { end.fulfill(.failure(released)) }.cancel()
            end.fulfill(.failure(LinkspanError(.cancelled, "the wait for '\(event)' was cancelled by off()")))
        }
        let timer = timeout.map { timeout in
            self.scheduler.schedule(at: self.scheduler.now + timeout) {
                let late = "'\(event)' did not arrive within \(timeout.text)"
                end.fulfill(.failure(LinkspanError(.timedOut, late, because: self.status.lastError)))
            }
        }
        let result = await withTaskCancellationHandler {
            await box.value
        } onCancel: {
            end.fulfill(.failure(cancelled))
        }
        message.cancel()
        connectionEnd.cancel()
        timer?.cancel()
        return try result.get()
    }

    /// Waits for one message of an event and reads its value; see ``next(_:timeout:)-(String,_)``.
    ///
    /// - Throws: ``LinkspanError``: `timedOut`, `released`, `cancelled`; `decodingFailed` for another shape.
    public func next<Value: Decodable, Reply>(
        _ event: Event<Value, Reply>, timeout: Duration? = nil
    ) async throws(LinkspanError) -> Value {
        try await self.next(event.name, timeout: timeout).decode(Value.self, coder: event.coder)
    }

    /// Calls `handler` with the value of one message, then never again; a message of another shape comes as an error.
    ///
    /// - Throws: ``LinkspanError`` with code `released`.
    @discardableResult
    public func once<Value: Decodable, Reply>(
        _ event: Event<Value, Reply>, _ handler: @escaping @Sendable (Result<Value, LinkspanError>) -> Void
    ) throws(LinkspanError) -> Subscription {
        try self.once(event.name) { message in
            handler(Result { () throws(LinkspanError) in try message.decode(Value.self, coder: event.coder) })
        }
    }
}
