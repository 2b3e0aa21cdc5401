#if Tracing
public import Linkspan
public import Tracing

/// An interceptor that makes a span of each message by OpenTelemetry's conventions for messaging, and sends the trace along.
///
/// ```swift
/// let connection = try ConnectionBuilder("https://chat.example")
///     .transport(.socketIO)
///     .options { $0.interceptors = [TracingInterceptor()] }
///     .connect()
/// ```
///
/// | span | kind | from | to |
/// | --- | --- | --- | --- |
/// | `send EVENT` | producer | the call | the transport has taken it |
/// | `request EVENT`, `deliver EVENT` | client, producer | the call | the reply |
/// | `process EVENT` | consumer | a listener is called | it returns |
///
/// The span of a command is a child of the span of the task that sends it. Its context travels with the message, so that the
/// server's span is a child of it: as a member of the first argument, or behind the arguments; see ``Carrier``. What a server sends with a context
/// is the parent of `process`, inside which the listener runs: messages that it sends belong to the same trace. A sequence is a listener
/// that returns at once; its reader goes on by ``context(of:)``.
///
/// Attributes are `messaging.system` (`linkspan`), `messaging.operation.name`, `messaging.operation.type`, `messaging.destination.name`
/// (the name of the event), `messaging.message.body.size`, `messaging.message.id` (the key of a delivery), `server.address`, `server.port`, and
/// `error.type` on failure. Payloads and texts of errors are in no span. An interceptor that encrypts belongs behind this one.
public final class TracingInterceptor: Interceptor {
    /// The place of the trace in a message.
    public enum Carrier: Sendable, Hashable {
        /// A member of the first argument with this name; a message whose first argument is no object travels without.
        case field(String)
        /// An object with a member of this name, behind the arguments.
        case lastArgument(String)
    }

    /// `tracing`.
    public let name = "tracing"
    private let carrier: Carrier
    private let tracer: any Tracer
    private let server: ConnectionURL?

    /// Makes an interceptor.
    ///
    /// - Parameters:
    ///   - carrier: the place of the trace in a message.
    ///   - url: the endpoint, for the attributes of the server; nil to leave them out.
    ///   - tracer: where spans go; nil for the tracer of the process, as it is now.
    public init(
        carrier: Carrier = .field("trace"), url: ConnectionURL? = nil, tracer: (any Tracer)? = nil
    ) {
        self.carrier = carrier
        self.server = url
        self.tracer = tracer ?? InstrumentationSystem.tracer
    }

    /// Begins the span of a command, and puts its context into the message.
    public func accept(_ command: inout Command) throws(LinkspanError) {
        let (operation, kind) = command.kind.operation
        let span = self.tracer.startSpan("\(operation) \(command.event)", ofKind: kind)
        self.describe(span, operation: operation, type: "send", command.event, command.payload)
        if let key = command.key { span.updateAttributes { $0["messaging.message.id"] = key } }
        self.inject(span.context, into: &command.payload)
        command = command.observed { outcome in
            if case .failure(let error) = outcome { span.fail(error.code.rawValue) }
            span.end()
        }
    }

    /// Calls a listener inside a span whose parent is the span that sent the message.
    public func handle(_ message: Message, by listener: () -> Void) {
        let parent = self.context(of: message.payload)
        let span = self.tracer.startSpan("process \(message.event)", context: parent, ofKind: .consumer)
        self.describe(span, operation: "process", type: "process", message.event, message.payload)
        ServiceContext.withValue(span.context) { listener() }
        span.end()
    }

    /// The context that came with a message, for servers and for readers of sequences; that of the task when there is none.
    public func context(of payload: Payload) -> ServiceContext {
        var context = ServiceContext.current ?? .topLevel
        let (value, name): (PayloadValue?, String) =
            switch self.carrier {
            case .field(let name): (payload[0], name)
            case .lastArgument(let name): (payload.values.last, name)
            }
        guard let fields = try? value?[name]?.decode([String: String].self) else { return context }
        self.tracer.extract(fields, into: &context, using: Fields())
        return context
    }

    private func inject(_ context: ServiceContext, into payload: inout Payload) {
        var fields: [String: String] = [:]
        self.tracer.inject(context, into: &fields, using: Fields())
        guard !fields.isEmpty else { return }
        switch self.carrier {
        case .field(let name):
            // Without an object there is no place, and the span alone tells of the message.
            try? payload.setField(name, to: fields)
        case .lastArgument(let name):
            guard let carried = try? Payload([name: fields]) else { return }
            let separator: [UInt8] = payload.isEmpty ? [] : [UInt8(ascii: ",")]
            payload = Payload(
                trustedElements: payload.elements + separator + carried.elements, attachments: payload.attachments)
        }
    }

    private func describe(
        _ span: any Span, operation: String, type: String, _ event: String, _ payload: Payload
    ) {
        span.updateAttributes { attributes in
            attributes["messaging.system"] = "linkspan"
            attributes["messaging.destination.name"] = event
            attributes["messaging.message.body.size"] = payload.byteCount
            attributes["messaging.operation.name"] = operation
            attributes["messaging.operation.type"] = type
            guard let server = self.server else { return }
            attributes["server.address"] = server.host
            attributes["server.port"] = server.port
        }
    }

    /// Reads and writes the fields of a trace, such as `traceparent`.
    private struct Fields: Injector, Extractor {
        func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) { carrier[key] = value }

        func extract(key: String, from carrier: [String: String]) -> String? { carrier[key] }
    }
}

extension Command.Kind {
    /// The operation of OpenTelemetry's conventions, and the kind of its span: a caller that waits for a reply is a client.
    fileprivate var operation: (name: String, kind: SpanKind) {
        switch self {
        case .send: ("send", .producer)
        case .request: ("request", .client)
        case .deliver: ("deliver", .producer)
        case .outcome: ("outcome", .internal)
        }
    }
}
#endif
