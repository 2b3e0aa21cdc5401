public import Linkspan

// Parts of Starscream that cannot exist over another engine. Each names the way out when a program uses it.

/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use WebSocket.configure instead") public typealias Engine = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use WebSocket.onEvent instead") public typealias EngineDelegate = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use FoundationSecurity(policy:)") public typealias PinningState = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use WebSocket.configure instead") public typealias WSEngine = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use WebSocket.configure instead") public typealias NativeEngine = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use WebSocket.configure instead") public typealias TransportEventClient = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use WebSocket.configure instead") public typealias TCPTransport = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use WebSocket.configure instead") public typealias TCPTransportError = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use WebSocket.configure instead") public typealias FoundationTransport = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use WebSocket.configure instead") public typealias FoundationTransportError = Never

/// Not there; the compiler names the way out.
@available(*, unavailable, message: "write a MessageProtocol instead") public typealias Framer = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "write a MessageProtocol instead") public typealias WSFramer = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "write a MessageProtocol instead") public typealias Frame = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "write a MessageProtocol instead") public typealias FrameOpCode = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "write a MessageProtocol instead") public typealias FrameCollector = Never

/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use the request's header fields") public typealias HTTPHandler = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use the request's header fields") public typealias HTTPHandlerDelegate = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use the request's header fields") public typealias HTTPEvent = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use the request's header fields") public typealias FoundationHTTPHandler = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use the request's header fields") public typealias StringHTTPHandler = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use the request's header fields") public typealias HTTPWSHeader = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use the request's header fields") public typealias HeaderValidator = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use the request's header fields") public typealias URLParts = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use the request's header fields") public typealias FoundationSecurityError = Never

/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use DevServer of Linkspan") public typealias Server = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use DevServer of Linkspan") public typealias WebSocketServer = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use DevServer of Linkspan") public typealias ServerConnection = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use DevServer of Linkspan") public typealias ServerEvent = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use DevServer of Linkspan") public typealias ConnectionEvent = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use DevServer of Linkspan") public typealias ConnectionDelegate = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use DevServer of Linkspan") public typealias HTTPServerHandler = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use DevServer of Linkspan") public typealias HTTPServerDelegate = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use DevServer of Linkspan") public typealias FoundationHTTPServerHandler = Never

// Named like types of Linkspan, and therefore the same, so that a file can import both.

/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use WebSocket.configure instead") public typealias Transport = Linkspan.Transport
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use connection") public typealias ConnectionState = Linkspan.ConnectionState
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use DevServer of Linkspan") public typealias Connection = Linkspan.Connection
