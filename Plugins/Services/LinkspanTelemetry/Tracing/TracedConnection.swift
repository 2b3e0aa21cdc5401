#if Tracing
public import Linkspan
public import LinkspanRuntime
public import Tracing

/// A connection that makes a span of every command, in the trace of its caller.
///
/// ```swift
/// let connection = try messaging.connect().traced()
/// let reply = try await connection.request("history", room)
/// ```
///
/// Spans are called `linkspan send`, `linkspan request` and `linkspan deliver`, are of the kind `client`, and last from
/// the call to the outcome: until the transport has taken a `send`, until the reply has come otherwise. Their
/// attributes are those of ``TracingService``; a failure has the error's code. Nothing about the trace is sent to the
/// server; a ``TracingInterceptor`` sends it along.
public final class TracedConnection: Connection {
    private let base: any Connection
    private let tracer: any Tracer

    /// Wraps a connection.
    ///
    /// - Parameters:
    ///   - base: the connection.
    ///   - tracer: where spans go; nil for the tracer of the process, as it is now.
    public init(_ base: any Connection, tracer: (any Tracer)? = nil) {
        self.base = base
        self.tracer = tracer ?? InstrumentationSystem.tracer
    }

    /// Takes a command, and makes a span that ends with its outcome.
    ///
    /// - Throws: ``/Linkspan/LinkspanError`` as the connection's own `perform` does; the span has failed then.
    public func perform(_ command: Command) throws(LinkspanError) {
        let (traced, span) = self.traced(command)
        do throws(LinkspanError) {
            try self.base.perform(traced)
        } catch {
            span.end(failedWith: error)
            throw error
        }
    }

    /// Takes commands that belong together, and makes a span of each.
    ///
    /// - Throws: ``/Linkspan/LinkspanError`` as the connection's own `perform` does; the spans have failed then.
    public func perform(batch: [Command]) throws(LinkspanError) {
        let traced = batch.map { self.traced($0) }
        do throws(LinkspanError) {
            try self.base.perform(batch: traced.map(\.command))
        } catch {
            for (_, span) in traced { span.end(failedWith: error) }
            throw error
        }
    }

    private func traced(_ command: Command) -> (command: Command, span: any Span) {
        let span = self.tracer.startSpan("linkspan \(command.kind.word)", ofKind: .client)
        span.updateAttributes {
            $0.merge(
                .message(command.event, bytes: command.payload.byteCount, endpoint: self.base.status.url.description))
        }
        let traced = command.observed { outcome in
            if case .failure(let error) = outcome { span.fail(error.code.rawValue) }
            span.end()
        }
        return (traced, span)
    }
}

extension Span {
    fileprivate func end(failedWith error: LinkspanError) {
        self.fail(error.code.rawValue)
        self.end()
    }
}

// MARK: - All else is the connection's own

extension TracedConnection {
    /// The status of the traced connection.
    public var status: ConnectionStatus { self.base.status }
    /// The clock by which waits are timed.
    public var scheduler: any Scheduler { self.base.scheduler }

    /// Gives up a command.
    public func cancel(_ id: Command.ID) { self.base.cancel(id) }

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
        to event: String?, once: Bool, onMark: (@Sendable (Continuity) -> Void)?,
        _ handler: @escaping @Sendable (Message) -> Void
    ) throws(LinkspanError) -> Subscription {
        try self.base.subscribe(to: event, once: once, onMark: onMark, handler)
    }

    /// Calls a closure with each change of the status, in order.
    public func onStatusChange(_ handler: @escaping @Sendable (StatusChange) -> Void) -> Subscription {
        self.base.onStatusChange(handler)
    }
}

extension Connection {
    /// The connection, with a span for every command.
    ///
    /// - Parameter tracer: where spans go; nil for the tracer of the process, as it is now.
    /// - Returns: the wrapped connection.
    public func traced(by tracer: (any Tracer)? = nil) -> TracedConnection { TracedConnection(self, tracer: tracer) }
}

extension Command.Kind {
    fileprivate var word: String {
        switch self {
        case .send: "send"
        case .request: "request"
        case .deliver: "deliver"
        case .outcome: "outcome"
        }
    }
}
#endif
