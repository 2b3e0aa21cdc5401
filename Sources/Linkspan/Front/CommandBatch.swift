/// Events that leave together; see ``Connection/batch(_:)``.
public struct CommandBatch: Sendable {
    fileprivate var commands: [Command] = []

    fileprivate init() {}

    /// Adds an event; see ``Connection/send(_:_:volatile:replacing:compress:)``.
    ///
    /// - Throws: ``LinkspanError`` with code `encodingFailed`.
    public mutating func send<each Argument: Encodable>(
        _ event: String, _ arguments: repeat each Argument, replacing key: String? = nil, compress: Bool = true
    ) throws(LinkspanError) {
        self.commands.append(
            Command(
                replacing: key, event: event, payload: try Payload(repeat each arguments), isCompressible: compress))
    }

    /// Adds a typed event.
    ///
    /// - Throws: ``LinkspanError`` with code `encodingFailed`.
    public mutating func send<Value: Encodable, Reply>(
        _ event: Event<Value, Reply>, _ value: Value, replacing key: String? = nil, compress: Bool = true
    ) throws(LinkspanError) {
        self.commands.append(
            Command(
                replacing: key, event: event.name, payload: try Payload(value, coder: event.coder),
                isCompressible: compress))
    }
}

extension Connection {
    /// Sends events together: in one write where the link is open, and otherwise in one turn once it is.
    ///
    /// ```swift
    /// try connection.batch { batch throws(LinkspanError) in
    ///     for line in lines { try batch.send("line", line) }
    ///     try batch.send("done")
    /// }
    /// ```
    ///
    /// At most once, each. Nothing is sent when `body` throws or there is no room for all of them. A batch is not
    /// interrupted by a pause, however large it is.
    ///
    /// - Parameter body: adds the events; they leave in this order when it returns.
    /// - Throws: what `body` throws; ``LinkspanError``: `bufferFull`, `released`, `disconnected`.
    public func batch(_ body: (inout CommandBatch) throws(LinkspanError) -> Void) throws(LinkspanError) {
        var batch = CommandBatch()
        try body(&batch)
        if !batch.commands.isEmpty { try self.perform(batch: batch.commands) }
    }

    /// Performs each by itself: for connections that do not know batches.
    public func perform(batch: [Command]) throws(LinkspanError) {
        for command in batch { try self.perform(command) }
    }
}
