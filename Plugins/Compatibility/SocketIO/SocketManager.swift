public import Foundation
internal import Linkspan
internal import LinkspanRuntime
internal import LinkspanSocketIO

/// The interface of a manager, which only ``SocketManager`` and its subclasses have.
public protocol SocketManagerSpec: SocketManager {}

extension SocketManager: SocketManagerSpec {}

/// The sockets of one server, and the options by which they connect.
///
/// Keep it as long as its sockets are to be up. Every method may be called from any thread.
open class SocketManager: NSObject, ConfigSettable {
    /// The server; its path, its query, and a user name and password in it are not used.
    public let socketURL: URL
    let queue = HandlerQueue()
    let terms = Lock(Terms())
    private let sockets = Lock<[String: SocketIOClient]>([:])

    /// Makes a manager; it connects nothing yet.
    public init(socketURL: URL, config: SocketIOClientConfiguration = []) {
        self.socketURL = socketURL
        super.init()
        self.setConfigs(config)
    }

    /// Makes a manager with options by their names; those of other names and types are left out.
    public convenience init(socketURL: URL, config: [String: Any]?) {
        self.init(socketURL: socketURL, config: (config ?? [:]).compactMap { .named($0, value: $1) })
    }

    deinit { for socket in self.nsps.values { self.leave(socket, reason: "Manager Deinit") } }

    // MARK: Options

    /// The options; new ones count from the next attempt on, and what they do not name stays as it was.
    public var config: SocketIOClientConfiguration {
        get { self[\.options] }
        set { self.setConfigs(newValue) }
    }

    /// Takes options; they count from the next attempt on, and what they do not name stays as it was.
    open func setConfigs(_ config: SocketIOClientConfiguration) {
        for case .handleQueue(let queue) in config { self.handleQueue = queue }
        for case .logger(let logger) in config { DefaultSocketLogger.Logger = logger }
        for case .log(let isWanted) in config { DefaultSocketLogger.Logger.log = isWanted }
        self.terms.withLock { $0 = $0.changed(by: config) }
    }

    /// The queue on which handlers are called; the main queue at first.
    public var handleQueue: DispatchQueue {
        get { self.queue.queue }
        set { self.queue.queue = newValue }
    }
    /// Changes nothing: each attempt is made with the options of its moment.
    public var forceNew: Bool {
        get { self[\.forcesNew] }
        set { self[\.forcesNew] = newValue }
    }
    /// Reconnects a socket whose link was lost; true at first.
    public var reconnects: Bool {
        get { self[\.retry.isWanted] }
        set { self[\.retry.isWanted] = newValue }
    }
    /// The shortest wait before the second attempt and later ones, in seconds; 10 at first.
    public var reconnectWait: Int {
        get { self[\.retry.wait] }
        set { self[\.retry.wait] = newValue }
    }
    /// The longest wait, in seconds; 30 at first.
    public var reconnectWaitMax: Int {
        get { self[\.retry.waitMax] }
        set { self[\.retry.waitMax] = newValue }
    }
    /// The part of a wait by which chance may lengthen it; 0.5 at first.
    public var randomizationFactor: Double {
        get { self[\.retry.randomization] }
        set { self[\.retry.randomization] = newValue }
    }
    /// Drops what is emitted while a socket is not connected, with a client event, as socket.io-client-swift does; false at
    /// first: it waits.
    public var dropsOfflineEmits: Bool {
        get { self[\.dropsOffline] }
        set { self[\.dropsOffline] = newValue }
    }
    /// The version of the server.
    public var version: SocketIOVersion { self[\.configuration.protocol] == .v2 ? .two : .three }

    private subscript<Value>(path: WritableKeyPath<Terms, Value>) -> Value {
        get { self.terms.withLock { $0[keyPath: path] } }
        set { self.terms.withLock { $0[keyPath: path] = newValue } }
    }

    // MARK: Sockets

    /// The sockets by their namespaces.
    public var nsps: [String: SocketIOClient] {
        get { self.sockets.withLock { $0 } }
        set { self.sockets.withLock { $0 = newValue } }
    }
    /// The furthest status of a socket; never `notConnected` again after one was told to connect, even if it is removed.
    public var status: SocketIOStatus {
        let least: SocketIOStatus = self[\.hasBegun] ? .disconnected : .notConnected
        return self.all.map(\.status).reduce(least) { $0.rawValue < $1.rawValue ? $1 : $0 }
    }
    /// The socket of the namespace `/`.
    public var defaultSocket: SocketIOClient { self.socket(forNamespace: "/") }
    private var all: [SocketIOClient] { self.nsps.sorted { $0.key < $1.key }.map(\.value) }

    /// The socket of a namespace, the same each time.
    open func socket(forNamespace nsp: String) -> SocketIOClient {
        let nsp = nsp.hasPrefix("/") ? nsp : "/\(nsp)"
        return self.sockets.withLock { sockets in
            let socket = sockets[nsp] ?? SocketIOClient(manager: self, nsp: nsp)
            sockets[nsp] = socket
            return socket
        }
    }

    /// Forgets a socket, which should be disconnected; returns it, if it was the manager's.
    @discardableResult
    open func removeSocket(_ socket: SocketIOClient) -> SocketIOClient? {
        self.sockets.withLock { $0.removeValue(forKey: socket.nsp) }
    }

    // MARK: Connecting

    /// Connects the socket of the namespace `/`.
    open func connect() { self.defaultSocket.connect() }

    /// Connects a socket, with a payload for the server; for ``SocketIOClient/joinNamespace(withPayload:)`` and subclasses.
    open func connectSocket(_ socket: SocketIOClient, withPayload payload: [String: Any]? = nil) {
        self[\.hasBegun] = true
        do {
            let payload = try payload.map { try Payload(arguments: [$0]) }
            socket.state.withLock { ($0.payload, $0.period) = (payload, $0.period ?? UUID()) }
            try socket.handler(of: self).reconnectNow()
        } catch {
            let reason = (error as? LinkspanError)?.message ?? "\(error)"
            socket.didError(reason: reason)
            socket.didDisconnect(reason: reason)
        }
    }

    /// Leaves the server and connects again, with the options of now; makes a waiting attempt at once.
    open func reconnect() {
        for socket in self.all {
            guard let handler = socket.state.withLock({ $0.period == nil ? nil : $0.handler }) else { continue }
            let isUp = handler.state == .connected
            socket.state.withLock { $0.isRenewed = isUp || $0.isRenewed }
            if isUp { try? handler.disconnect() }
            try? handler.reconnectNow()
        }
    }

    /// Disconnects all sockets.
    open func disconnect() {
        for socket in self.all { self.leave(socket) }
        self.didDisconnect(reason: "Disconnect")
    }

    /// Disconnects a socket; what it has emitted and could not leave is given up, with a client event.
    open func disconnectSocket(_ socket: SocketIOClient) { self.leave(socket, reason: "Namespace leave") }

    /// Disconnects the socket of a namespace, and forgets it.
    open func disconnectSocket(forNamespace nsp: String) {
        if let socket = self.sockets.withLock({ $0.removeValue(forKey: nsp) }) { self.disconnectSocket(socket) }
    }

    /// Tells all sockets that they are down and stay so.
    open func didDisconnect(reason: String) { for socket in self.all { socket.didDisconnect(reason: reason) } }
    /// Calls the handlers of a client event of all sockets.
    open func emitAll(clientEvent event: SocketClientEvent, data: [Any]) { self.all.forEach { $0.tell(event, data) } }
    /// Sends an event in every namespace.
    open func emitAll(_ event: String, _ items: SocketData...) { self.emitAll(event, withItems: items) }
    /// Sends an event with a list of arguments in every namespace.
    open func emitAll(_ event: String, withItems items: [Any]) { self.all.forEach { $0.emit(event, with: items) } }

    /// Leaves the namespace of a socket, and tells that the reason; without one the caller tells all sockets at once.
    private func leave(_ socket: SocketIOClient, reason: String? = nil) {
        socket.state.withLock { $0.period = nil }
        let handler = socket.state.withLock { $0.handler }
        try? handler?.disconnect()
        socket.state.withLock { $0.endLink() }
        // What has not left must not go out when another user connects.
        handler?.cancelCommands { $0.kind == .send || $0.kind == .request }
        if let reason { socket.didDisconnect(reason: reason) }
    }

    /// The configuration of a socket's connection, whose links are made by the options of their moment.
    func configuration(for socket: SocketIOClient) throws(LinkspanError) -> ConnectionConfiguration {
        let (terms, queue, url, first) = (self.terms, self.queue, self.socketURL, self.terms.withLock { $0 })
        if let problem = first.problem { throw problem }
        if let end = socket.nsp.firstIndex(where: { "?#".contains($0) }) {
            throw Terms.refusal("the namespace \(socket.nsp[..<end]) has a query or a fragment: use connectParams")
        }
        let scheme = first.isSecure || ["https", "wss"].contains(url.scheme?.lowercased()) ? "https" : "http"
        let host = url.host.map { $0.contains(":") ? "[\($0)]" : $0 } ?? ""
        let port = url.port.map { ":\($0)" } ?? ""
        let transport = ManagedTransport(
            executor: SocketIOTransport(first.configuration).executor,
            identity: ["manager": Secret("\(ObjectIdentifier(self))")],
            terms: { [weak socket] in
                var terms = terms.withLock { $0 }
                // A connection stays on its executor.
                terms.configuration.network = first.configuration.network
                return (terms.configuration, terms.credentials(socket?.state.withLock { $0.payload }))
            },
            notice: { [weak socket] info in queue.post(.call { socket?.note(info) }) })
        return try ConnectionBuilder("\(scheme)://\(host)\(port)\(socket.nsp)").transport(transport)
            .options { options in
                options.retry = RetryPolicy { question in terms.withLock { $0.retry }.delay(for: question) }
                options.replyTimeout = .seconds(1_000_000_000)
                (options.buffer.commands, options.buffer.bytes) = (100_000, 64 << 20)
                options.idleTimeout = .zero
            }
            .build()
    }
}
