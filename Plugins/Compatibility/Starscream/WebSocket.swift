public import Foundation
public import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime
public import LinkspanWebSocket
internal import Logging

/// A WebSocket with the interface of Starscream 4.0.8, over a connection of Linkspan.
///
/// One ``connect()`` is one link: nothing reconnects by itself, and each link, or attempt to open one, ends with one event
/// (`disconnected`, `error`, `cancelled` or `peerClosed`). May be used from any thread. Events and completions come on
/// ``callbackQueue``, in order.
open class WebSocket: WebSocketClient, EngineDelegate {
    private struct State {
        var request: URLRequest
        weak var delegate: (any WebSocketDelegate)?
        var onEvent: ((WebSocketEvent) -> Void)?
        var callbackQueue = DispatchQueue.main
        var answersPings = true
        /// The connection, once it is made.
        var handler: ConnectionHandler?
        /// The connection as code that has moved on holds it.
        var shared: ConnectionHandler?
        /// What the connection is to do first; nil unless it is being made.
        var early: [(ConnectionHandler) -> Void]?
        /// The terms of the latest attempt.
        var terms: LinkTerms?
        /// Writes that wait for the link, and are given up with it.
        var waiting: Set<Command.ID> = []

        /// Takes the next of ``early``; nil when there are no more, and callers may use the connection from now on.
        mutating func nextEarly(
            _ handler: ConnectionHandler, _ shared: ConnectionHandler
        ) -> [(ConnectionHandler) -> Void]? {
            if let early = self.early, !early.isEmpty {
                self.early = []
                return early
            }
            (self.early, self.handler, self.shared) = (nil, handler, shared)
            return nil
        }
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
        get { self.state.withLock { $0.delegate } }
        set { self.state.withLock { $0.delegate = newValue } }
    }

    /// Called with what happens, after the delegate.
    public var onEvent: ((WebSocketEvent) -> Void)? {
        get { self.state.withLock { $0.onEvent } }
        set { self.state.withLock { $0.onEvent = newValue } }
    }

    /// The request of the next ``connect()``.
    public var request: URLRequest {
        get { self.state.withLock { $0.request } }
        set { self.state.withLock { $0.request = newValue } }
    }

    /// The queue of events and completions (default: the main one).
    public var callbackQueue: DispatchQueue {
        get { self.state.withLock { $0.callbackQueue } }
        set { self.state.withLock { $0.callbackQueue = newValue } }
    }

    /// Whether pings of the server are answered, from the next ``connect()`` on (default true).
    public var respondToPingWithPong: Bool {
        get { self.state.withLock { $0.answersPings } }
        set { self.state.withLock { $0.answersPings = newValue } }
    }

    /// The connection underneath, for code that has moved on: both sides send and listen on one link.
    ///
    /// Its events are `text`, `binary`, `ping` and `pong`, see `FrameEnvelopeCodec`. Nil before the first ``connect()`` and for
    /// a moment after it; it stays the same from then on, over every further link.
    public var connection: ConnectionHandler? { self.state.withLock { $0.shared } }

    // MARK: - The link

    /// Opens a link; does nothing while there is one.
    public func connect() {
        let terms = self.state.withLock { LinkTerms($0.request, answersPings: $0.answersPings) }
        let isFirst = self.state.withLock { state in
            guard state.handler == nil, state.early == nil else { return false }
            (state.early, state.terms) = ([], terms)
            return true
        }
        guard isFirst else {
            self.act { self.reconnect($0, terms) }
            return
        }
        let transport = terms.transport(self.security, self.compression, Self.configure)
        // On the executor nothing can happen to the connection before this listens.
        transport.executor.execute { [weak self] in self?.open(terms, over: transport) }
    }

    private func open(_ terms: LinkTerms, over transport: WebSocketTransport) {
        do {
            let configuration = try terms.configuration(over: transport)
            let handler = try self.manager.connect(configuration)
            try self.listen(to: handler)
            // A holder of its own, whose listeners and release are none of this one's.
            let shared = try self.manager.connect(configuration)
            // Whatever comes meanwhile is done after that, in order.
            while let early = self.state.withLock({ $0.nextEarly(handler, shared) }) {
                for action in early { action(handler) }
            }
        } catch {
            self.state.withLock { $0.early = nil }
            self.didReceive(event: .error(WSError(error)))
        }
    }

    private func reconnect(_ handler: ConnectionHandler, _ terms: LinkTerms) {
        guard !handler.status.isUp else { return }
        do {
            let hasChanged = self.state.withLock { state in
                defer { state.terms = terms }
                return state.terms != terms
            }
            if hasChanged {
                let transport = terms.transport(self.security, self.compression, Self.configure)
                try self.manager.move(handler, to: try terms.configuration(over: transport))
            }
        } catch {
            return self.didReceive(event: .error(WSError(error)))
        }
        // Refused when another thread was faster, or the move has begun an attempt.
        try? handler.connect()
    }

    /// Closes the link, and tells so by `cancelled`.
    ///
    /// - Parameter closeCode: a code that may be sent (RFC 6455 section 7.4); 1000 is sent for others.
    public func disconnect(closeCode: UInt16 = CloseCode.normal.rawValue) {
        self.act { handler in
            let waiting = self.state.withLock { state in
                defer { state.waiting = [] }
                return state.waiting
            }
            for id in waiting { handler.cancel(id) }
            do throws(LinkspanError) {
                try handler.disconnect(code: closeCode)
            } catch {
                Logger.starscream.notice("The link is closed with code 1000", metadata: ["reason": "\(error.message)"])
                try? handler.disconnect()
            }
        }
    }

    /// Closes the link like ``disconnect(closeCode:)``, with code 1000.
    public func forceDisconnect() { self.disconnect() }

    /// Does something with the connection, now or as soon as it is there.
    ///
    /// - Returns: false before the first ``connect()``: then nothing is done.
    @discardableResult
    private func act(_ action: @escaping (ConnectionHandler) -> Void) -> Bool {
        let (handler, isEarly) = self.state.withLock { state in
            state.early?.append(action)
            return (state.handler, state.early != nil)
        }
        if let handler { action(handler) }
        return isEarly || handler != nil
    }

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
            let terms = self.state.withLock { state in
                state.waiting = []
                return state.terms
            }
            let fields = info.headers.byName
            terms?.keepCookies(of: fields)
            self.didReceive(event: .connected(fields))
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
    public func write(string: String, completion: (() -> Void)?) {
        self.write("text", string, completion)
    }

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
            case .failure(let error): Self.dropped(kind, error.message)
            }
        }
        let isTaken = self.act { handler in
            let status = handler.status
            guard status.isUp else { return Self.dropped(kind, "there is no link") }
            if status.state != .connected { self.state.withLock { _ = $0.waiting.insert(command.id) } }
            do throws(LinkspanError) {
                try handler.perform(command)
            } catch {
                Self.dropped(kind, error.message)
            }
        }
        if !isTaken { Self.dropped(kind, "there is no link") }
    }

    private static func dropped(_ kind: String, _ reason: String) {
        Logger.starscream.notice("A write was dropped", metadata: ["kind": "\(kind)", "reason": "\(reason)"])
    }
}

extension ConnectionStatus {
    /// Whether there is a link, or an attempt to open one.
    fileprivate var isUp: Bool {
        switch self.state {
        case .connected, .reconnecting: true
        case .created: self.progress != .idle
        case .disconnected, .released: false
        }
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
