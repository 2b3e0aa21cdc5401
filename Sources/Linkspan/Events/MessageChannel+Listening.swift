public import LinkspanRuntime

// What a channel of a third party has without writing it, made of `subscribe` and `onStateChange`.

extension MessageChannel {
    /// Real time.
    public var scheduler: any Scheduler { SystemScheduler.shared }

    /// Calls `handler` when the connection has been released.
    public func onEnd(_ handler: @escaping @Sendable () -> Void) -> Subscription {
        let gate = OnceGate()
        gate.own(
            self.onStateChange { change in
                guard change.to == .released, gate.pass() else { return }
                handler()
                gate.end()
            })
        return Subscription { gate.end() }
    }

    /// Calls `handler` with one message.
    ///
    /// What was held behind it goes with it.
    ///
    /// - Throws: ``LinkspanError`` with code `released`.
    @discardableResult
    public func once(
        _ event: String, _ handler: @escaping @Sendable (Message) -> Void
    ) throws(LinkspanError) -> Subscription {
        let gate = OnceGate()
        gate.own(
            try self.subscribe(to: event) { message in
                guard gate.pass() else { return }
                handler(message)
                gate.end()
            })
        return Subscription { gate.end() }
    }

    /// Calls `handler` with messages, and with a mark at each change of state that has one.
    ///
    /// - Throws: ``LinkspanError`` with code `released`.
    @discardableResult
    public func onItems(
        _ event: String?, _ handler: @escaping @Sendable (EventItem) -> Void
    ) throws(LinkspanError) -> Subscription {
        // The latest change, which it begins with, is from before.
        let latest = self.diagnosis.history.last?.sequence ?? 0
        let marks = self.onStateChange { change in
            if change.sequence > latest, let mark = change.continuity { handler(.continuity(mark)) }
        }
        do throws(LinkspanError) {
            let messages = try self.subscribe(to: event) { handler(.message($0)) }
            return Subscription {
                messages.cancel()
                marks.cancel()
            }
        } catch {
            marks.cancel()
            throw error
        }
    }

    /// Refuses, because what a channel sends can be heard only inside it.
    ///
    /// - Throws: ``LinkspanError`` with code `unsupported`.
    @discardableResult
    public func onAnyOutgoing(
        _ handler: @escaping @Sendable (OutgoingMessage) -> Void
    ) throws(LinkspanError) -> Subscription {
        throw LinkspanError(.unsupported, "this connection does not tell what it sends")
    }

    /// Messages and marks as a sequence, made of ``onItems(_:_:)`` and ``onEnd(_:)``.
    ///
    /// - Throws: ``LinkspanError`` with code `released`.
    public func events(
        _ event: String?, capacity: Int, overflow: EventStream.Overflow
    ) throws(LinkspanError) -> EventStream {
        let queue = EventQueue(capacity: capacity, overflow: overflow)
        queue.own(try self.onItems(event) { [weak queue] in queue?.push($0) })
        queue.own(self.onEnd { [weak queue] in queue?.finish() })
        return EventStream(queue: queue)
    }
}

// MARK: - One message

extension MessageChannel {
    /// Waits for one message of an event: the oldest that is held, or the next to come.
    ///
    /// Exactly one message is taken. As long as nobody listens to the event for longer, what comes before the next call is
    /// held for it, within the bounds of the hold; a loop over all messages is better served by ``EventStream``.
    ///
    /// - Parameters:
    ///   - event: the name of the event.
    ///   - timeout: how long to wait; nil for as long as the connection lives.
    /// - Returns: the message.
    /// - Throws: ``LinkspanError``: `timedOut`, `released`, `cancelled`.
    public func next(_ event: String, timeout: Duration? = nil) async throws(LinkspanError) -> Message {
        let box = Promise<Result<Message, LinkspanError>>()
        let message = try self.once(event) { box.fulfill(.success($0)) }
        let end = self.onEnd { box.fulfill(.failure(LinkspanError(.released, "the end came before '\(event)' did"))) }
        message.atEnd {
            // Taken off, unless that is because everything has ended: then this is called at once.
            self.onEnd { box.fulfill(.failure(LinkspanError(.released, "the end came before '\(event)' did"))) }
                .cancel()
            box.fulfill(.failure(LinkspanError(.cancelled, "the wait for '\(event)' was called off")))
        }
        let timer = timeout.map { timeout in
            self.scheduler.schedule(at: self.scheduler.now + timeout) {
                box.fulfill(.failure(LinkspanError(.timedOut, "no '\(event)' came in time")))
            }
        }
        let result = await withTaskCancellationHandler {
            await box.value
        } onCancel: {
            box.fulfill(.failure(LinkspanError(.cancelled, "the wait for '\(event)' was cancelled")))
        }
        message.cancel()
        end.cancel()
        timer?.cancel()
        return try result.get()
    }

    /// Waits for one message of an event and reads its value; see ``next(_:timeout:)-(String,_)``.
    ///
    /// - Throws: ``LinkspanError``: `timedOut`, `released`, `cancelled`; `decodingFailed` for another shape.
    public func next<Value, Reply>(
        _ event: Event<Value, Reply>, timeout: Duration? = nil
    ) async throws(LinkspanError) -> Value {
        try await self.next(event.name, timeout: timeout).decode(Value.self)
    }

    /// Calls `handler` with the value of one message, then never again; a message of another shape comes as an error.
    ///
    /// - Throws: ``LinkspanError`` with code `released`.
    @discardableResult
    public func once<Value, Reply>(
        _ event: Event<Value, Reply>, _ handler: @escaping @Sendable (Result<Value, LinkspanError>) -> Void
    ) throws(LinkspanError) -> Subscription {
        try self.once(event.name) { message in
            handler(Result { () throws(LinkspanError) in try message.decode(Value.self) })
        }
    }
}

// MARK: - Sequences

extension MessageChannel {
    /// Messages of one event, or of all when `event` is nil, as a sequence that drops the oldest of those that wait when
    /// there are `capacity` of them.
    ///
    /// - Throws: ``LinkspanError`` with code `released`.
    public func events(_ event: String?, capacity: Int = 1_024) throws(LinkspanError) -> EventStream {
        try self.events(event, capacity: capacity, overflow: .dropOldest)
    }

    /// Messages of one event, or of all when `event` is nil, as a sequence that holds at most 1,024 of them.
    ///
    /// - Throws: ``LinkspanError`` with code `released`.
    public func events(_ event: String?, overflow: EventStream.Overflow) throws(LinkspanError) -> EventStream {
        try self.events(event, capacity: 1_024, overflow: overflow)
    }
}
