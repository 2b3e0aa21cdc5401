internal import LinkspanRuntime

extension Connection {
    /// Answers the server's requests: calls `handler` with each value and sends its result back.
    ///
    /// On the connection's executor, in the order of the questions; a handler that takes time or may fail is an
    /// asynchronous one, as in ``answer(_:_:)-(Event<Value,Reply>,(Value)->Reply)``. A question of another shape is
    /// answered with an error of code `decodingFailed`, in the form described there.
    ///
    /// - Throws: ``LinkspanError`` with code `released`.
    @discardableResult
    public func answer<Value: Decodable, Reply: Encodable>(
        _ event: Event<Value, Reply>, _ handler: @escaping @Sendable (Value) -> Reply
    ) throws(LinkspanError) -> Subscription {
        try self.on(event.name) { message in
            guard message.wantsReply else { return }
            do {
                let value = try message.decode(Value.self, coder: event.coder)
                message.reply(payload: try Payload(handler(value), coder: event.coder))
            } catch {
                message.reply(payload: Payload(failure: error, coder: event.coder))
            }
        }
    }

    /// Answers the server's requests with an asynchronous handler that may throw.
    ///
    /// ```swift
    /// try connection.answer(.inspect) { request in
    ///     guard let device = await registry.device(request.id) else {
    ///         throw LinkspanError(
    ///             .init(rawValue: "unknownDevice"), "there is no device \(request.id)")
    ///     }
    ///     return try await device.report()
    /// }
    /// ```
    ///
    /// The handler runs on the actor that isolates the closure. Several questions are answered at the same time,
    /// each in a task of its own, and in any order. An answer is lost when its link ends first.
    ///
    /// A server gets an error as the argument `{"error":{"code":"…","message":"…"}}`, with code and message of a
    /// ``LinkspanError``. An error that is `Encodable` stands there itself, as its type writes it. Of any other error
    /// the reply has only the code `failed`, because the error's text may not be meant for the server.
    ///
    /// Up to 1,024 questions are answered at a time; the server gets `bufferFull` for others.
    ///
    /// - Parameters:
    ///   - event: the event.
    ///   - handler: makes the answer.
    /// - Returns: the registration; it lasts whether or not it is kept. Answers under way go on after its end.
    /// - Throws: ``LinkspanError`` with code `released`.
    @discardableResult
    public func answer<Value: Decodable, Reply: Encodable>(
        _ event: Event<Value, Reply>,
        // As with `onEach`: the compiler checks the isolation of the caller's closure.
        @_inheritActorContext _ handler: @escaping @Sendable @isolated(any) (Value) async throws -> Reply
    ) throws(LinkspanError) -> Subscription {
        let underWay = Lock(0)
        return try self.on(event.name) { message in
            guard message.wantsReply else { return }
            let question = message.detached()
            let isTaken = underWay.withLock { count in
                guard count < mostAnswers else { return false }
                count += 1
                return true
            }
            guard isTaken else {
                let error = LinkspanError(.bufferFull, "\(mostAnswers) questions are being answered")
                return question.reply(payload: Payload(failure: error, coder: event.coder))
            }
            // No parent: it is the server that waits for the answer.
            Task {
                defer { underWay.withLock { $0 -= 1 } }
                do {
                    let reply = try await handler(try question.decode(Value.self, coder: event.coder))
                    question.reply(payload: try Payload(reply, coder: event.coder))
                } catch {
                    question.reply(payload: Payload(failure: error, coder: event.coder))
                }
            }
        }
    }
}

/// The most questions of a registration that are being answered.
private let mostAnswers = 1_024

extension Payload {
    /// The answer to the server for a handler that failed.
    fileprivate init(failure: any Error, coder: PayloadCoder) {
        struct Failure: Encodable {
            let code: String
            let message: String
        }
        func told<Content: Encodable>(_ content: Content) -> Payload? {
            try? Payload(["error": content], coder: coder)
        }
        if let error = failure as? LinkspanError {
            self = told(Failure(code: error.code.rawValue, message: error.message)) ?? .empty
        } else if let error = failure as? any Encodable, let payload = told(error) {
            self = payload
        } else {
            self = told(Failure(code: "failed", message: "the question could not be answered")) ?? .empty
        }
    }
}
