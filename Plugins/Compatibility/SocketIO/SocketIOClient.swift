public import Foundation
internal import Linkspan
internal import LinkspanRuntime

/// The interface of a socket, which only ``SocketIOClient`` and its subclasses have.
public protocol SocketIOClientSpec: SocketIOClient {}

extension SocketIOClient: SocketIOClientSpec {}

/// A socket whose arguments are of any types, which is ``SocketIOClient``: `Data` is found wherever it is.
public typealias SocketRawView = SocketIOClient

/// A namespace of a server: sends and handles its events.
///
/// Made by ``SocketManager/socket(forNamespace:)``. Every method may be called from any thread; handlers are called on the
/// manager's ``SocketManager/handleQueue``.
open class SocketIOClient: NSObject {
    struct State {
        var handlers: [SocketEventHandler] = []
        var anyHandler: ((SocketAnyEvent) -> Void)?
        var status = SocketIOStatus.notConnected
        var sid: String?
        /// The connection, and how far it has come.
        var handler: ConnectionHandler?
        /// Identifies the time from `connect` to `disconnect`, also while the connection is down; nil outside of it.
        var period: UUID?
        /// True from a manual reconnect until the connection has gone down for it.
        var isRenewed = false
        var payload: Payload?
        /// The events that have handlers, or had; nil stands for those that have none.
        var heard: Set<String?> = []
        var isOverWebSocket = false
        /// The attempts since the first one failed or the link was lost; nil before that.
        var attempts: Int?
        var acks = Numbered<AckCallback>()
        /// Messages that wait for an acknowledgement.
        var questions = Numbered<Message>()

        /// Forgets what belongs to the link that has ended.
        mutating func endLink() {
            (self.isOverWebSocket, self.attempts, self.isRenewed, self.questions) = (false, nil, false, .init())
        }
    }

    /// The namespace.
    public let nsp: String
    /// The manager that has made it.
    public private(set) weak var manager: (any SocketManagerSpec)?
    let state = Lock(State())
    /// One of its own: a socket may take the place of one that an app still holds.
    let connections = ConnectionManager()
    let queue: HandlerQueue
    let terms: Lock<Terms>

    /// Makes a socket of a manager; usually ``SocketManager/socket(forNamespace:)`` does.
    public init(manager: any SocketManagerSpec, nsp: String) {
        (self.manager, self.nsp, self.queue, self.terms) = (manager, nsp, manager.queue, manager.terms)
        super.init()
        // One with hooks of its own sees all events.
        if type(of: self) != SocketIOClient.self { self.hear(nil) }
    }

    // MARK: Its state

    /// The handler of every event.
    public var anyHandler: ((SocketAnyEvent) -> Void)? { self.state.withLock { $0.anyHandler } }
    /// The handlers, in the order in which they are called.
    public var handlers: [SocketEventHandler] { self.state.withLock { $0.handlers } }
    /// The status.
    public var status: SocketIOStatus { self.state.withLock { $0.status } }
    /// The server's name for the session; nil before the first one, and empty behind the end of one.
    public var sid: String? { self.state.withLock { $0.sid } }
    /// Sends events; the same as the socket.
    public var rawEmitView: SocketRawView { self }

    /// Changes the status, unless it is that already or another one; returns whether it has changed.
    @discardableResult
    private func enter(_ status: SocketIOStatus, sid: String? = nil, unless other: SocketIOStatus? = nil) -> Bool {
        let isNew = self.state.withLock { state in
            guard state.status != status, state.status != other else { return false }
            (state.status, state.sid) = (status, sid ?? state.sid)
            return true
        }
        if isNew { self.tell(.statusChange, [status, status.rawValue]) }
        return isNew
    }

    // MARK: Connecting

    /// Connects, with a payload for the server.
    open func connect(withPayload payload: [String: Any]? = nil) {
        self.connect(withPayload: payload, timeoutAfter: 0, withHandler: nil)
    }

    /// Connects, with a payload for the server; gives up and calls `handler` when it is not up after so many seconds.
    ///
    /// With 0 seconds it goes on as the options say.
    open func connect(
        withPayload payload: [String: Any]? = nil, timeoutAfter: Double, withHandler handler: (() -> Void)?
    ) {
        guard self.manager != nil, self.status != .connected else { return }
        self.enter(.connecting, unless: .connected)
        self.joinNamespace(withPayload: payload)
        guard timeoutAfter > 0 else { return }
        self.queue.queue.asyncAfter(deadline: .now() + timeoutAfter) { [weak self] in
            guard let self, [.connecting, .notConnected].contains(self.status) else { return }
            self.enter(.disconnected)
            self.leaveNamespace()
            handler?()
        }
    }

    /// Leaves the namespace and stays so until ``connect(withPayload:)``.
    open func disconnect() { self.leaveNamespace() }
    /// Connects; for ``connect(withPayload:)`` and subclasses.
    open func joinNamespace(withPayload payload: [String: Any]? = nil) {
        self.manager?.connectSocket(self, withPayload: payload)
    }
    /// Leaves the namespace.
    open func leaveNamespace() { self.manager?.disconnectSocket(self) }

    /// The server has accepted the socket.
    open func didConnect(toNamespace namespace: String, payload: [String: Any]?) {
        guard self.enter(.connected, sid: payload?["sid"] as? String) else { return }
        self.tell(.connect, payload.map { [namespace, $0] } ?? [namespace])
    }

    /// The socket is down and stays so.
    open func didDisconnect(reason: String) {
        if self.enter(.disconnected, sid: "") { self.tell(.disconnect, [reason]) }
    }

    /// Something failed.
    open func didError(reason: String) { self.tell(.error, [reason]) }

    /// The link is lost, and attempts follow.
    open func setReconnecting(reason: String) {
        self.enter(.connecting)
        self.tell(.reconnect, [reason])
    }

    // MARK: Sending

    /// Sends an event, or keeps it until the socket is up.
    ///
    /// A value that cannot be sent leads to the client event ``SocketClientEvent/error`` with `[event, items, error]`.
    ///
    /// - Parameters:
    ///   - event: the name.
    ///   - items: the arguments.
    ///   - completion: called on the queue when the transport has taken it, or it has failed.
    open func emit(_ event: String, _ items: SocketData..., completion: (() -> Void)? = nil) {
        self.emit(event, with: items, completion: completion)
    }

    /// Sends an event with a list of arguments; see ``emit(_:_:completion:)``.
    open func emit(_ event: String, with items: [SocketData], completion: (() -> Void)? = nil) {
        self.perform(.send, event, items, done: completion.map { completion in { _ in completion() } })
    }

    /// Sends an event with a list of arguments of any types.
    open func emit(_ event: String, with items: [Any]) { self.perform(.send, event, items) }

    /// Makes an emit that asks for an acknowledgement; it is sent by ``OnAckCallback/timingOut(after:callback:)``.
    open func emitWithAck(_ event: String, _ items: SocketData...) -> OnAckCallback {
        self.emitWithAck(event, with: items)
    }

    /// Makes an emit with a list of arguments that asks for an acknowledgement.
    open func emitWithAck(_ event: String, with items: [SocketData]) -> OnAckCallback { self.request(event, items) }
    /// Makes an emit with a list of arguments of any types that asks for an acknowledgement.
    open func emitWithAck(_ event: String, with items: [Any]) -> OnAckCallback { self.request(event, items) }

    /// Acknowledges an event by its number; for ``SocketAckEmitter`` and subclasses.
    open func emitAck(_ ack: Int, with items: [Any]) {
        do {
            let payload = try Payload(arguments: items)
            self.state.withLock { $0.questions.remove(ack) }?.reply(payload: payload)
        } catch {
            self.tell(.error, [ack, items, error])
        }
    }

    // MARK: Handling

    /// An acknowledgement has come: calls its callback.
    open func handleAck(_ ack: Int, data: [Any]) { self.state.withLock { $0.acks.remove(ack) }?(data) }

    /// Calls the handlers of a client event, and logs an error.
    open func handleClientEvent(_ event: SocketClientEvent, data: [Any]) {
        if event == .error { DefaultSocketLogger.Logger.error("\(data.first ?? "")", type: self.label) }
        self.handleEvent(event.rawValue, data: data, isInternalMessage: true)
    }

    /// Calls the handlers of an event: of the server's only while the socket is up.
    open func handleEvent(_ event: String, data: [Any], isInternalMessage: Bool, withAck ack: Int = -1) {
        let (status, anyHandler, handlers) = self.state.withLock { ($0.status, $0.anyHandler, $0.handlers) }
        guard status == .connected || isInternalMessage else { return }
        DefaultSocketLogger.active?.log("handles \(event)", type: self.label)
        anyHandler?(SocketAnyEvent(event: event, items: data))
        for handler in handlers where handler.event == event {
            handler.executeCallback(with: data, withAck: ack, withSocket: self)
        }
    }

    /// Calls `callback` with each event of a name; returns the handler's identity, for ``off(id:)``.
    @discardableResult
    open func on(_ event: String, callback: @escaping NormalCallback) -> UUID { self.add(event, UUID(), callback) }
    /// Calls `callback` with each client event of a kind.
    @discardableResult
    open func on(clientEvent event: SocketClientEvent, callback: @escaping NormalCallback) -> UUID {
        self.on(event.rawValue, callback: callback)
    }

    /// Calls `callback` with the next event of a name, once.
    @discardableResult
    open func once(_ event: String, callback: @escaping NormalCallback) -> UUID {
        let id = UUID()
        return self.add(event, id) { [weak self] data, ack in
            self?.off(id: id)
            callback(data, ack)
        }
    }

    /// Calls `callback` with the next client event of a kind, once.
    @discardableResult
    open func once(clientEvent event: SocketClientEvent, callback: @escaping NormalCallback) -> UUID {
        self.once(event.rawValue, callback: callback)
    }

    /// Calls `handler` with every event, client events included, before its own handlers.
    open func onAny(_ handler: @escaping (SocketAnyEvent) -> Void) {
        self.state.withLock { $0.anyHandler = handler }
        self.hear(nil)
    }
    /// Removes the handlers of an event.
    open func off(_ event: String) { self.state.withLock { $0.handlers.removeAll { $0.event == event } } }
    /// Removes the handlers of a client event.
    open func off(clientEvent event: SocketClientEvent) { self.off(event.rawValue) }
    /// Removes a handler.
    open func off(id: UUID) { self.state.withLock { $0.handlers.removeAll { $0.id == id } } }
    /// Removes all handlers.
    open func removeAllHandlers() { self.state.withLock { $0.handlers = [] } }

    private func add(_ event: String, _ id: UUID, _ callback: @escaping NormalCallback) -> UUID {
        self.state.withLock { $0.handlers.append(SocketEventHandler(event: event, id: id, callback: callback)) }
        self.hear(event)
        return id
    }
}

/// Values by their numbers, the newest 1,024: what nobody takes is forgotten.
struct Numbered<Value> {
    private var values: [Int: Value] = [:]
    private var last = -1

    mutating func add(_ value: Value) -> Int {
        self.last += 1
        (self.values[self.last], self.values[self.last - 1_024]) = (value, nil)
        return self.last
    }

    mutating func remove(_ number: Int) -> Value? { self.values.removeValue(forKey: number) }
}
