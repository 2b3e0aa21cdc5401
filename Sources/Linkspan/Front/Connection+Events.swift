extension Connection {
    /// Sends an event at most once; see ``send(_:_:volatile:replacing:compress:)``.
    ///
    /// - Throws: ``LinkspanError``: `encodingFailed`, `bufferFull`, `disconnected`, `released`.
    public func send<Value: Encodable, Reply>(
        _ event: Event<Value, Reply>, _ value: Value, replacing key: String? = nil, compress: Bool = true
    ) throws(LinkspanError) {
        try self.perform(
            Command(
                replacing: key, event: event.name, payload: Payload(value, coder: event.coder),
                isCompressible: compress))
    }

    /// Sends an event at most once, now or after a delay, and waits until the transport has taken it; see
    /// ``send(_:_:after:timeout:compress:)-(String,_,_,_,_)``.
    ///
    /// - Throws: ``LinkspanError``.
    public func send<Value: Encodable, Reply>(
        _ event: Event<Value, Reply>, _ value: Value, after delay: Duration? = nil, timeout: Duration?,
        compress: Bool = true
    ) async throws(LinkspanError) {
        _ = try await self.reply(
            to: .send, event: event.name, payload: Payload(value, coder: event.coder), after: delay, timeout: timeout,
            isCompressible: compress)
    }

    /// Sends an event at most once and waits for the reply.
    ///
    /// - Throws: ``LinkspanError``; `decodingFailed` when the reply has another shape.
    public func request<Value: Encodable, Reply: Decodable>(
        _ event: Event<Value, Reply>, _ value: Value, timeout: Duration? = nil, compress: Bool = true
    ) async throws(LinkspanError) -> Reply {
        try event.reply(
            in: try await self.reply(
                to: .request, event: event.name, payload: Payload(value, coder: event.coder), timeout: timeout,
                isCompressible: compress))
    }

    /// Sends an event until it is answered, in order within its ordering key.
    ///
    /// - Throws: ``LinkspanError``; `decodingFailed` when the reply has another shape.
    @discardableResult
    public func deliver<Value: Encodable, Reply: Decodable>(
        _ event: Event<Value, Reply>, _ value: Value, orderingKey: String? = nil, timeout: Duration? = nil,
        compress: Bool = true
    ) async throws(LinkspanError) -> Reply {
        try event.reply(
            in: try await self.reply(
                to: .deliver(orderingKey: orderingKey ?? event.name), event: event.name,
                payload: Payload(value, coder: event.coder), timeout: timeout, isCompressible: compress))
    }

    /// Hands an event over to be delivered, and returns as soon as it is accepted; see
    /// ``enqueue(_:_:orderingKey:key:timeout:compress:)-(String,_,_,_,_,_)``.
    ///
    /// - Throws: ``LinkspanError``.
    @discardableResult
    public func enqueue<Value: Encodable, Reply>(
        _ event: Event<Value, Reply>, _ value: Value, orderingKey: String? = nil, key: String? = nil,
        timeout: Duration? = nil, compress: Bool = true
    ) async throws(LinkspanError) -> String {
        try await Command.receipt(
            of: .deliver(orderingKey: orderingKey ?? event.name), event: event.name,
            payload: Payload(value, coder: event.coder), timeout: timeout, key: key,
            isCompressible: compress,
            perform: { command throws(LinkspanError) in try self.perform(command) }, cancel: { self.cancel($0) })
    }

    /// Calls `handler` with the value of each message; a message of another shape comes as an error, not as silence.
    ///
    /// On the connection's executor; for a handler on the main actor or elsewhere there is `onEach` of
    /// ``values(_:capacity:overflow:)``.
    ///
    /// - Throws: ``LinkspanError`` with code `released`.
    @discardableResult
    public func on<Value: Decodable, Reply>(
        _ event: Event<Value, Reply>, _ handler: @escaping @Sendable (Result<Value, LinkspanError>) -> Void
    ) throws(LinkspanError) -> Subscription {
        try self.on(event.name) { message in
            handler(Result { () throws(LinkspanError) in try message.decode(Value.self, coder: event.coder) })
        }
    }

    /// The values of an event as a sequence, a value of another shape as an error.
    ///
    /// Marks are left out; ``EventStream/marked()`` has them, so that a reader knows where values are missing:
    ///
    /// ```swift
    /// for await item in try connection.values(.quoted, capacity: 16).marked() {
    ///     switch item {
    ///     case .message(let quote): print(try quote.get())
    ///     case .continuity(.continuous): ()
    ///     case .continuity(.gap(let reason)): reload(because: reason)
    ///     }
    /// }
    /// ```
    ///
    /// - Throws: ``LinkspanError`` with code `released`.
    public func values<Value: Decodable, Reply>(
        _ event: Event<Value, Reply>, capacity: Int = 1_024, overflow: StreamOverflow = .dropOldest
    ) throws(LinkspanError) -> EventStream<Result<Value, LinkspanError>> {
        let stream = try self.events(event.name, capacity: capacity, overflow: overflow)
        return EventStream(queue: stream.queue) { entry in
            Result { () throws(LinkspanError) in try entry.message.decode(Value.self, coder: event.coder) }
        }
    }

    /// The values of an event that is known by its name alone; see ``values(_:capacity:overflow:)``.
    ///
    /// - Throws: ``LinkspanError`` with code `released`.
    public func values<Value: Decodable & Sendable>(
        _ event: String, as type: Value.Type, capacity: Int = 1_024, overflow: StreamOverflow = .dropOldest
    ) throws(LinkspanError) -> EventStream<Result<Value, LinkspanError>> {
        try self.values(Event<Value, NoReply>(event), capacity: capacity, overflow: overflow)
    }
}
