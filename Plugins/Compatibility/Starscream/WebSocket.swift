public import Foundation
public import Linkspan
internal import LinkspanRuntime
public import LinkspanWebSocket

/// A WebSocket with the interface of Starscream 4.0.8, over a connection of Linkspan.
///
/// One ``connect()`` is one link: nothing reconnects by itself, and each link, or attempt to open one, ends with one event
/// (`disconnected`, `error`, `cancelled` or `peerClosed`). May be used from any thread. Events and completions come on
/// ``callbackQueue``, in order.
open class WebSocket: WebSocketClient {
    private struct State {
        var request: URLRequest
        weak var delegate: (any WebSocketDelegate)?
        var onEvent: ((WebSocketEvent) -> Void)?
        var callbackQueue = DispatchQueue.main
        var answersPings = true
        /// The connection, made by the first ``WebSocket/connect()``.
        var handler: ConnectionHandler?
        /// The connection as code that has moved on holds it, whose listeners and release are its own.
        var shared: ConnectionHandler?
        /// The terms of the latest attempt.
        var terms: LinkTerms?
    }

    private let security: (any CertificatePinning)?
    private let compression: (any CompressionHandler)?
    /// One of its own: two sockets of Starscream never share a link, and nothing but ``connect()`` opens one.
    private let manager = ConnectionManager(options: .init { $0.rules = [] })
    private let state: Lock<State>

    /// Makes a socket.
    ///
    /// - Parameters:
    ///   - request: where to, with header fields, the sub-protocols in `Sec-WebSocket-Protocol`, and a time limit for opening.
    ///   - certPinner: the rules for verifying the server; nil for those of the system.
    ///   - compressionHandler: has messages compressed; nil for none.
    ///   - useCustomEngine: has no effect: there is one engine.
    public init(
        request: URLRequest, certPinner: (any CertificatePinning)? = FoundationSecurity(),
        compressionHandler: (any CompressionHandler)? = nil, useCustomEngine: Bool = true
    ) {
        (self.security, self.compression) = (certPinner, compressionHandler)
        self.state = Lock(State(request: request))
    }

    /// Not there; the compiler names the way out.
    @available(*, unavailable, message: "use WebSocket.configure")
    public convenience init(request: URLRequest, engine: Any) { self.init(request: request) }

    /// Changes the configuration of every link that is opened from now on: for what Starscream had no words for, such as a
    /// proxy, a client certificate or the limit for received messages.
    ///
    /// It has the values of the socket and its request already.
    public static var configure: @Sendable (inout WebSocketConfiguration) -> Void {
        get { Self.change.withLock { $0 } }
        set { Self.change.withLock { $0 = newValue } }
    }
    private static let change = Lock<@Sendable (inout WebSocketConfiguration) -> Void>({ _ in })

    /// Receives the events; not kept.
    public weak var delegate: (any WebSocketDelegate)? {
        get { self[\.delegate] }
        set { self[\.delegate] = newValue }
    }

    /// Called with each event, after the delegate.
    public var onEvent: ((WebSocketEvent) -> Void)? {
        get { self[\.onEvent] }
        set { self[\.onEvent] = newValue }
    }

    /// The request of the next ``connect()``.
    public var request: URLRequest {
        get { self[\.request] }
        set { self[\.request] = newValue }
    }

    /// The queue of events and completions (default: the main one).
    public var callbackQueue: DispatchQueue {
        get { self[\.callbackQueue] }
        set { self[\.callbackQueue] = newValue }
    }

    /// Whether pings of the server are answered, from the next ``connect()`` on (default true).
    public var respondToPingWithPong: Bool {
        get { self[\.answersPings] }
        set { self[\.answersPings] = newValue }
    }

    private subscript<Value>(_ property: WritableKeyPath<State, Value>) -> Value {
        get { self.state.withLock { $0[keyPath: property] } }
        set { self.state.withLock { $0[keyPath: property] = newValue } }
    }

    /// The connection underneath, for code that has moved on: both sides send and listen on one link.
    ///
    /// Its events are `text`, `binary`, `ping` and `pong`, see `FrameMessageProtocol`. Nil before the first ``connect()``; it stays
    /// the same from then on, over every further link. ``disconnect(closeCode:)`` cancels also its sends that wait.
    public var connection: ConnectionHandler? { self[\.shared] }

    // MARK: - The link

    /// Opens a link; does nothing while there is one.
    public func connect() {
        let terms = self.state.withLock { LinkTerms($0.request, answersPings: $0.answersPings) }
        do throws(LinkspanError) {
            let configuration = try terms.configuration(self.security, self.compression, Self.configure)
            let handler = try self.handler(configuration)
            guard handler.status.progress == .idle else { return }
            if let former = self[\.terms], former != terms { try self.manager.move(handler, to: configuration) }
            self[\.terms] = terms
            // Refused when another thread was faster, or the move has begun an attempt.
            try? handler.connect()
        } catch {
            self.didReceive(event: .error(WSError(error)))
        }
    }

    private func handler(_ configuration: ConnectionConfiguration) throws(LinkspanError) -> ConnectionHandler {
        // All of it under the lock, so that nobody opens the connection before this listens; none of it calls back.
        try self.state.withLock { state throws(LinkspanError) in
            if let handler = state.handler { return handler }
            let handler = try self.manager.prepare(configuration)
            try self.listen(to: handler)
            (state.handler, state.shared) = (handler, try self.manager.prepare(configuration))
            return handler
        }
    }

    /// Closes the link, and gives up what waits for it; `cancelled` follows.
    ///
    /// - Parameter closeCode: a code that may be sent (RFC 6455 section 7.4); 1000 is sent for others.
    public func disconnect(closeCode: UInt16 = CloseCode.normal.rawValue) {
        guard let handler = self[\.handler] else { return }
        handler.cancelCommands { $0.kind == .send }
        if (try? handler.disconnect(code: closeCode)) == nil { try? handler.disconnect() }
    }

    /// Closes the link like ``disconnect(closeCode:)``, with code 1000.
    public func forceDisconnect() { self.disconnect() }

    // MARK: - Events

    private func listen(to handler: ConnectionHandler) throws(LinkspanError) {
        handler.onStateChange { [weak self] in self?.changed($0) }
        try handler.on("text") { [weak self] in self?.didReceive(event: .text($0.payload[0]?.string ?? "")) }
        try handler.on("binary") { [weak self] in self?.didReceive(event: .binary(Data($0.payload[0]?.blob ?? []))) }
        try handler.on("ping") { [weak self] in self?.didReceive(event: .ping(Data($0.payload[0]?.blob ?? []))) }
        try handler.on("pong") { [weak self] in self?.didReceive(event: .pong(Data($0.payload[0]?.blob ?? []))) }
    }

    private func changed(_ change: StateChange) {
        switch (change.to, change.reason) {
        case (.connected, .established(let info)):
            self[\.terms]?.keepCookies(of: info.headers.byName)
            self.didReceive(event: .connected(info.headers.byName))
        case (.disconnected, .requested): self.didReceive(event: .cancelled)
        case (.disconnected, .lost(let error)), (.disconnected, .failed(let error)):
            self.didReceive(event: WebSocketEvent(error, wasOpen: change.from == .connected))
        default: ()
        }
    }

    /// Tells the delegate and ``onEvent`` of an event.
    public func didReceive(event: WebSocketEvent) {
        self.callbackQueue.async { [weak self] in
            guard let self else { return }
            self.delegate?.didReceive(event: event, client: self)
            self.onEvent?(event)
        }
    }

    // MARK: - Writing

    /// Sends a text message; see ``write(data:completion:)``.
    public func write(string: String, completion: (() -> Void)?) { self.write("text", string, completion) }

    /// Sends UTF-8 as a text message; see ``write(data:completion:)``.
    public func write(stringData: Data, completion: (() -> Void)?) {
        self.write(string: String(decoding: stringData, as: UTF8.self), completion: completion)
    }

    /// Sends a binary message.
    ///
    /// While the link is being opened it waits for that. Without a link it is dropped, which is logged, and `completion` is
    /// not called.
    ///
    /// - Parameters:
    ///   - data: the message.
    ///   - completion: called on ``callbackQueue`` when the transport has taken the message.
    public func write(data: Data, completion: (() -> Void)?) { self.write("binary", data, completion) }

    /// Sends a ping of at most 125 bytes; see ``write(data:completion:)``.
    public func write(ping: Data, completion: (() -> Void)?) { self.write("ping", ping, completion) }

    /// Sends a pong of at most 125 bytes; see ``write(data:completion:)``.
    public func write(pong: Data, completion: (() -> Void)?) { self.write("pong", pong, completion) }

    private func write(_ kind: String, _ content: some Encodable, _ completion: (() -> Void)?) {
        guard let payload = try? Payload(content) else { return }
        let command = Command(.send, event: kind, payload: payload) { [weak self] outcome in
            switch outcome {
            case .success: if let completion { self?.callbackQueue.async { completion() } }
            case .failure(let error):
                processLog.notice("A write of \(kind) was dropped", metadata: ["reason": "\(error.message)"])
            }
        }
        guard let handler = self[\.handler], handler.status.progress != .idle else {
            return command.finish(.failure(LinkspanError(.disconnected, "there is no link")))
        }
        do throws(LinkspanError) { try handler.perform(command) } catch { command.finish(.failure(error)) }
    }
}

/// Receives the events of a socket, on its ``WebSocket/callbackQueue``.
///
/// Implement one of the two methods: Starscream had the first up to 4.0.4, as its README says, and the other since.
public protocol WebSocketDelegate: AnyObject {
    /// Something has happened.
    func didReceive(event: WebSocketEvent, client: WebSocket)
    /// Something has happened.
    func didReceive(event: WebSocketEvent, client: any WebSocketClient)
}

extension WebSocketDelegate {
    /// Passes the event on to the other method.
    public func didReceive(event: WebSocketEvent, client: WebSocket) {
        self.didReceive(event: event, client: client as any WebSocketClient)
    }
    /// Does nothing.
    public func didReceive(event: WebSocketEvent, client: any WebSocketClient) {}
}
