public import Linkspan

// Parts of Starscream that cannot exist over another engine. Each names the way out when a program uses it.

/// Not there; the compiler names the way out.
@available(*, unavailable, message: "there is one engine: use WebSocket.configure, or a Transport of Linkspan")
public typealias Engine = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "there is one engine: use WebSocket.configure, or a Transport of Linkspan")
public typealias WSEngine = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "there is one engine: use WebSocket.configure, or a Transport of Linkspan")
public typealias NativeEngine = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "there is one engine: use WebSocket.configure, or a Transport of Linkspan")
public typealias TransportEventClient = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "there is one engine: use WebSocket.configure, or a Transport of Linkspan")
public typealias TCPTransport = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "there is one engine: use WebSocket.configure, or a Transport of Linkspan")
public typealias TCPTransportError = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "there is one engine: use WebSocket.configure, or a Transport of Linkspan")
public typealias FoundationTransport = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "there is one engine: use WebSocket.configure, or a Transport of Linkspan")
public typealias FoundationTransportError = Never

/// Not there; the compiler names the way out.
@available(*, unavailable, message: "frames stay inside: a format of your own is an EnvelopeCodec")
public typealias Framer = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "frames stay inside: a format of your own is an EnvelopeCodec")
public typealias WSFramer = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "frames stay inside: a format of your own is an EnvelopeCodec")
public typealias FramerEventClient = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "frames stay inside: a format of your own is an EnvelopeCodec")
public typealias Frame = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "frames stay inside: a format of your own is an EnvelopeCodec")
public typealias FrameEvent = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "frames stay inside: a format of your own is an EnvelopeCodec")
public typealias FrameOpCode = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "frames stay inside: a format of your own is an EnvelopeCodec")
public typealias FrameCollector = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "frames stay inside: a format of your own is an EnvelopeCodec")
public typealias FrameCollectorDelegate = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "frames stay inside: a format of your own is an EnvelopeCodec")
public typealias MyWSArrayType = Never

/// Not there; the compiler names the way out.
@available(*, unavailable, message: "the handshake stays inside: its fields are in request and `connected`")
public typealias HTTPHandler = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "the handshake stays inside: its fields are in request and `connected`")
public typealias HTTPHandlerDelegate = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "the handshake stays inside: its fields are in request and `connected`")
public typealias HTTPEvent = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "the handshake stays inside: its fields are in request and `connected`")
public typealias FoundationHTTPHandler = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "the handshake stays inside: its fields are in request and `connected`")
public typealias StringHTTPHandler = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "the handshake stays inside: its fields are in request and `connected`")
public typealias HTTPWSHeader = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "the handshake stays inside: its fields are in request and `connected`")
public typealias HeaderValidator = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "the handshake stays inside: its fields are in request and `connected`")
public typealias URLParts = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "the handshake stays inside: its fields are in request and `connected`")
public typealias FoundationSecurityError = Never

/// Not there; the compiler names the way out.
@available(*, unavailable, message: "there is no server: use DevServer of LinkspanDevServer in tests")
public typealias Server = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "there is no server: use DevServer of LinkspanDevServer in tests")
public typealias WebSocketServer = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "there is no server: use DevServer of LinkspanDevServer in tests")
public typealias ServerConnection = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "there is no server: use DevServer of LinkspanDevServer in tests")
public typealias ServerEvent = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "there is no server: use DevServer of LinkspanDevServer in tests")
public typealias ConnectionEvent = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "there is no server: use DevServer of LinkspanDevServer in tests")
public typealias ConnectionDelegate = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "there is no server: use DevServer of LinkspanDevServer in tests")
public typealias HTTPServerHandler = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "there is no server: use DevServer of LinkspanDevServer in tests")
public typealias HTTPServerDelegate = Never
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "there is no server: use DevServer of LinkspanDevServer in tests")
public typealias FoundationHTTPServerHandler = Never

// Named like types of Linkspan, and therefore the same, so that a file can import both.

/// Not there; the compiler names the way out.
@available(*, unavailable, message: "there is one engine: use WebSocket.configure, or a Transport of Linkspan")
public typealias Transport = Linkspan.Transport
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "there is one engine: use WebSocket.configure, or a Transport of Linkspan")
public typealias ConnectionState = Linkspan.ConnectionState
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "there is no server: use DevServer of LinkspanDevServer in tests")
public typealias Connection = Linkspan.Connection

/// Not there; the compiler names the way out.
@available(*, unavailable, message: "frames stay inside: a format of your own is an EnvelopeCodec")
public func writeUint16(_ buffer: inout [UInt8], offset: Int, value: UInt16) {}
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "frames stay inside: a format of your own is an EnvelopeCodec")
public func writeUint32(_ buffer: inout [UInt8], offset: Int, value: UInt32) {}
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "frames stay inside: a format of your own is an EnvelopeCodec")
public func writeUint64(_ buffer: inout [UInt8], offset: Int, value: UInt64) {}

extension WebSocket {
    /// Not there; the compiler names the way out.
    @available(*, unavailable, message: "there is one engine: use WebSocket.configure, or a Transport of Linkspan")
    public convenience init(request: URLRequest, engine: any AnyObject) { self.init(request: request) }
}

#if canImport(Security)
public import Security

extension FoundationSecurity {
    /// Not there; the compiler names the way out.
    @available(*, unavailable, message: "the TLS library verifies: use FoundationSecurity(policy:)")
    public func evaluateTrust(trust: SecTrust, domain: String?, completion: (PinningState) -> Void) {}
}
#endif
