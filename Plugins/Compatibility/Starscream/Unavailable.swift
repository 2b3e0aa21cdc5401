public import Foundation
public import Linkspan

// Parts of Starscream that cannot exist over another engine. Each names the way out when a program uses it.

/// The type behind the names that are not there: takes what programs do with them, so that the message is the one error.
@available(*, unavailable, message: "nothing stands for it here")
@dynamicMemberLookup @dynamicCallable public struct NotOffered {
    /// Takes what engines, transports and servers of Starscream were made of.
    public init(transport: Any? = nil, certPinner: Any? = nil, compressionHandler: Any? = nil, isServer: Any? = nil) {}
    /// Takes what the transport of Foundation's streams was made of.
    public init(streamConfiguration: (Any) -> Void) {}
    /// Takes what engines of socket.io-client-swift were made of.
    public init(client: Any, url: Any, config: Any) {}
    /// Takes the name of a member.
    public subscript(dynamicMember _: String) -> NotOffered { self }
    /// Takes the name of a member of the type, such as a case.
    public static subscript(dynamicMember _: String) -> NotOffered { NotOffered() }
    /// Takes the arguments of a call.
    public func dynamicallyCall(withKeywordArguments _: KeyValuePairs<String, Any>) {}
}

/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use WebSocket.configure") public typealias Engine = NotOffered
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use WebSocket.onEvent instead") public typealias EngineDelegate = NotOffered
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use FoundationSecurity(policy:)") public typealias PinningState = NotOffered
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use WebSocket.configure") public typealias WSEngine = NotOffered
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use WebSocket.configure") public typealias NativeEngine = NotOffered
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use WebSocket.configure") public typealias TransportEventClient = NotOffered
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use WebSocket.configure") public typealias TCPTransport = NotOffered
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use WebSocket.configure") public typealias TCPTransportError = NotOffered
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use WebSocket.configure") public typealias FoundationTransport = NotOffered
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use WebSocket.configure") public typealias FoundationTransportError = NotOffered

/// Not there; the compiler names the way out.
@available(*, unavailable, message: "write a MessageProtocol") public typealias Framer = NotOffered
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "write a MessageProtocol") public typealias FramerEventClient = NotOffered
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "write a MessageProtocol") public typealias WSFramer = NotOffered
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "write a MessageProtocol") public typealias Frame = NotOffered
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "write a MessageProtocol") public typealias FrameEvent = NotOffered
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "write a MessageProtocol") public typealias FrameOpCode = NotOffered
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "write a MessageProtocol") public typealias FrameCollector = NotOffered
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "write a MessageProtocol") public typealias FrameCollectorDelegate = NotOffered

/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use header fields") public typealias HTTPHandler = NotOffered
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use header fields") public typealias HTTPHandlerDelegate = NotOffered
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use header fields") public typealias HTTPEvent = NotOffered
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use header fields") public typealias FoundationHTTPHandler = NotOffered
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use header fields") public typealias StringHTTPHandler = NotOffered
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use header fields") public typealias HTTPWSHeader = NotOffered
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use header fields") public typealias HeaderValidator = NotOffered
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use header fields") public typealias URLParts = NotOffered
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use header fields") public typealias FoundationSecurityError = NotOffered

/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use DevServer") public typealias Server = NotOffered
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use DevServer") public typealias WebSocketServer = NotOffered
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use DevServer") public typealias ServerConnection = NotOffered
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use DevServer") public typealias ServerEvent = NotOffered
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use DevServer") public typealias ConnectionEvent = NotOffered
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use DevServer") public typealias ConnectionDelegate = NotOffered
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use DevServer") public typealias HTTPServerHandler = NotOffered
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use DevServer") public typealias HTTPServerDelegate = NotOffered
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use DevServer") public typealias FoundationHTTPServerHandler = NotOffered

extension WSCompression {
    /// Not there; the compiler names the way out.
    @available(*, unavailable, message: "not needed") public func load(headers: [String: String]) {}
    /// Not there; the compiler names the way out.
    @available(*, unavailable, message: "not needed") public func compress(data: Data) -> Data? { nil }
    /// Not there; the compiler names the way out.
    @available(*, unavailable, message: "not needed") public func decompress(data: Data, isFinal: Bool) -> Data? { nil }
}

extension FoundationSecurity {
    /// Not there; the compiler names the way out.
    @available(*, unavailable, message: "not needed")
    public func validate(headers: [String: String], key: String) -> Error? { nil }
}

extension URL {
    /// Whether the scheme is `wss` or `https`.
    public var isTLSScheme: Bool { ["wss", "https"].contains(self.scheme) }
    /// Not there; the compiler names the way out.
    @available(*, unavailable, message: "use URLComponents") public func getParts() -> NotOffered? { nil }
}

// Named like types of Linkspan, and therefore the same, so that a file can import both.

/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use WebSocket.configure") public typealias Transport = Linkspan.Transport
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use connection") public typealias ConnectionState = Linkspan.ConnectionState
/// Not there; the compiler names the way out.
@available(*, unavailable, message: "use DevServer") public typealias Connection = Linkspan.Connection
