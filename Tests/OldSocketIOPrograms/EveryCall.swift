// Written in the style of the old documents.
// swift-format-ignore-file

import Foundation
import SocketIO
import Starscream

/// A value of an app's own.
struct Profile: SocketData {
    let name: String
    let age: Int

    func socketRepresentation() -> SocketData {
        return ["name": name, "age": age] as [String: Any]
    }
}

/// A logger of an app's own.
public final class AppLogger: SocketLogger {
    public var log = false

    public init() {}
}

/// A manager with hooks of its own.
open class AppManager: SocketManager {
    public var connects = 0

    open override func connect() {
        connects += 1
        super.connect()
    }

    open override func connectSocket(_ socket: SocketIOClient, withPayload payload: [String: Any]? = nil) {
        connects += 1
        super.connectSocket(socket, withPayload: payload)
    }

    open override func didDisconnect(reason: String) {
        super.didDisconnect(reason: reason)
    }

    open override func setConfigs(_ config: SocketIOClientConfiguration) {
        super.setConfigs(config)
    }
}

/// A socket with hooks of its own.
open class AppSocket: SocketIOClient {
    open override func didConnect(toNamespace namespace: String, payload: [String: Any]?) {
        super.didConnect(toNamespace: namespace, payload: payload)
    }

    open override func didDisconnect(reason: String) {
        super.didDisconnect(reason: reason)
    }

    open override func handleEvent(_ event: String, data: [Any], isInternalMessage: Bool, withAck ack: Int = -1) {
        super.handleEvent(event, data: data, isInternalMessage: isInternalMessage, withAck: ack)
    }

    open override func handleAck(_ ack: Int, data: [Any]) {
        super.handleAck(ack, data: data)
    }

    open override func setReconnecting(reason: String) {
        super.setReconnecting(reason: reason)
    }
}

/// Uses each call of the documents once.
public enum EveryCall {
    /// Runs them against a server that is there; `queue` is the one of the handlers.
    public static func run(url: URL, queue: DispatchQueue, extra: SocketIOClientConfiguration) -> SocketManager {
        let logger = AppLogger()
        var config: SocketIOClientConfiguration = [
            .compress,
            .connectParams(["version": 7, "token": "fresh"]),
            .cookies([HTTPCookie(properties: [.name: "theme", .value: "dark", .domain: "localhost", .path: "/"])!]),
            .extraHeaders(["X-Old": "yes"]),
            .forceNew(true),
            .forcePolling(false),
            .forceWebsockets(true),
            .enableSOCKSProxy(false),
            .handleQueue(queue),
            .log(false),
            .logger(logger),
            .path("/socket.io/"),
            .reconnects(true),
            .reconnectAttempts(-1),
            .reconnectWait(1),
            .reconnectWaitMax(5),
            .randomizationFactor(0.5),
            .secure(false),
            .selfSigned(false),
            .useCustomEngine(false),
            .version(.three),
        ]
        config.insert(.log(false))
        config.insert(.path("/socket.io/"), replacing: false)
        for option in extra { config.insert(option) }
        _ = config.first?.description
        _ = config[config.startIndex] == .compress
        _ = config.contains { $0 == .log(true) }

        let manager = AppManager(socketURL: url, config: config)
        _ = SocketManager(socketURL: url, config: ["log": false, "path": "/socket.io/", "reconnectWait": 2])
        _ = SocketManager(socketURL: url)
        manager.config = config
        manager.setConfigs(config)
        _ = manager.config.count
        _ = manager.socketURL
        manager.forceNew = true
        manager.handleQueue = queue
        manager.reconnects = true
        manager.reconnectWait = 1
        manager.reconnectWaitMax = 5
        manager.randomizationFactor = 0.5
        _ = manager.version == SocketIOVersion.three
        _ = manager.status == SocketIOStatus.notConnected
        let spec: SocketManagerSpec = manager
        spec.reconnects = true

        let socket = manager.defaultSocket
        let admin = manager.socket(forNamespace: "/admin")
        _ = manager.nsps["/admin"] === admin
        let own = AppSocket(manager: manager, nsp: "/news")
        manager.nsps["/news"] = own

        socket.on(clientEvent: .connect) { data, ack in _ = data[0] as? String }
        socket.on(clientEvent: .disconnect) { data, ack in _ = data[0] as? String }
        socket.on(clientEvent: .error) { data, ack in _ = data }
        socket.on(clientEvent: .ping) { _, _ in }
        socket.on(clientEvent: .pong) { _, _ in }
        socket.on(clientEvent: .reconnect) { data, ack in _ = data[0] as? String }
        socket.on(clientEvent: .reconnectAttempt) { data, ack in _ = data[0] as? Int }
        socket.on(clientEvent: .statusChange) { data, ack in
            guard let status = data[0] as? SocketIOStatus, let raw = data[1] as? Int else { return }
            _ = status.active && status.rawValue == raw && status.description.isEmpty
        }
        socket.on(clientEvent: .websocketUpgrade) { data, ack in _ = (data as [Any])[0] as? [String: String] }
        let id = socket.on("question") { data, ack in
            if ack.expected { ack.with("one", 2, ["three": 3]) }
            ack.with(["again"] as [Any])
            ack.rawEmitView.with("raw")
            ack.rawEmitView.with(["raw"] as [Any])
        }
        socket.once("echo") { data, ack in _ = data.count }
        socket.once(clientEvent: .connect) { _, _ in }
        socket.onAny { event in _ = (event.event, event.items?.count, event.description) }
        _ = socket.handlers.first.map { ($0.event, $0.id, $0.callback) }
        socket.anyHandler?(SocketIOAnyProbe.event(of: socket))

        manager.connect()
        socket.connect()
        admin.connect(withPayload: ["user": "root"])
        own.connect(withPayload: ["user": "reader"], timeoutAfter: 30) {}
        manager.connectSocket(admin, withPayload: ["user": "root"])
        manager.connectSocket(admin)
        own.joinNamespace(withPayload: ["user": "reader"])
        own.joinNamespace()

        socket.emit("echo")
        socket.emit("echo", 1, 2.5, "three", true, ["four": 4], [5, 6], Data([7]), NSNull())
        socket.emit("echo", Profile(name: "Erik", age: 24)) { _ = "written" }
        socket.emit("echo", with: ["list"], completion: nil)
        socket.emitWithAck("note", 1).timingOut(after: 1) { data in
            if let status = data.first as? String { _ = status == SocketAckStatus.noAck.rawValue }
        }
        socket.emitWithAck("note", with: [2]).timingOut(after: 0) { data in _ = data }
        socket.rawEmitView.emit("echo", "raw")
        socket.emit("echo", with: [])
        socket.rawEmitView.emit("echo", with: ["raw"])
        let mixed: [Any] = ["raw", 1]
        socket.rawEmitView.emit("echo", with: mixed)
        socket.rawEmitView.emitWithAck("note", 3).timingOut(after: 1) { _ in }
        socket.rawEmitView.emitWithAck("note", with: [4]).timingOut(after: 1) { _ in }
        socket.rawEmitView.emitWithAck("note", with: mixed).timingOut(after: 1) { _ in }
        socket.emitAck(0, with: ["late"])
        socket.handleAck(0, data: ["early"])
        socket.handleClientEvent(.statusChange, data: [SocketIOStatus.connected, 3])
        socket.handleEvent("echo", data: [], isInternalMessage: true)
        socket.didError(reason: "nothing")
        _ = (socket.sid, socket.status, socket.nsp, socket.manager === manager)
        let view: SocketRawView = socket.rawEmitView
        view.emit("echo")
        let client: SocketIOClientSpec = socket
        _ = client.status
        manager.emitAll("echo", "all")
        manager.emitAll(clientEvent: .ping, data: [])

        socket.off(clientEvent: .pong)
        socket.off("question")
        socket.off(id: id)
        own.removeAllHandlers()
        manager.reconnect()
        own.leaveNamespace()
        own.disconnect()
        manager.disconnectSocket(own)
        manager.disconnectSocket(forNamespace: "/news")
        manager.removeSocket(own)

        DefaultSocketLogger.Logger.log = false
        DefaultSocketLogger.Logger.log("line", type: "EveryCall")
        DefaultSocketLogger.Logger.error("line", type: "EveryCall")
        DefaultSocketLogger.Logger = logger
        return manager
    }

    /// Ends them all.
    public static func end(_ manager: SocketManager) {
        manager.disconnect()
    }
}

enum SocketIOAnyProbe {
    static func event(of socket: SocketIOClient) -> SocketAnyEvent {
        var found: SocketAnyEvent?
        let former = socket.anyHandler
        socket.onAny { found = $0 }
        socket.handleEvent("probe", data: [1], isInternalMessage: true)
        if let former = former { socket.onAny(former) }
        return found!
    }
}

extension SocketIOClientOption {
    /// An option of the app's own, made of a type of Starscream.
    static func trusting(_ pinner: CertificatePinning) -> SocketIOClientOption {
        return .security(pinner)
    }
    static let selfSignedToo = trusting(FoundationSecurity(allowSelfSigned: false))

    /// The value, for a screen of settings.
    var value: Any {
        switch self {
        case .compress: return true
        case .connectParams(let items): return items
        case .cookies(let cookies): return cookies
        case .extraHeaders(let fields): return fields
        case .forceNew(let flag), .forcePolling(let flag), .forceWebsockets(let flag), .enableSOCKSProxy(let flag): return flag
        case .log(let flag), .reconnects(let flag), .secure(let flag), .selfSigned(let flag), .useCustomEngine(let flag): return flag
        case .handleQueue(let queue): return queue
        case .logger(let logger): return logger
        case .path(let path): return path
        case .reconnectAttempts(let number), .reconnectWait(let number), .reconnectWaitMax(let number): return number
        case .randomizationFactor(let factor): return factor
        case .security(let pinner): return pinner
        case .sessionDelegate(let delegate): return delegate
        case .version(let version): return version
        }
    }
}

/// A part of an app that knows the interfaces alone.
final class Session {
    private let manager: any SocketManagerSpec
    private weak var client: (any SocketIOClientSpec)?

    init(manager: any SocketManagerSpec) {
        self.manager = manager
        self.client = manager.defaultSocket
    }

    func status<Client: SocketIOClientSpec>(of client: Client) -> SocketIOStatus {
        return client.status
    }
}

extension SocketIOClientSpec {
    /// A property that the app adds to all sockets.
    var isUp: Bool { return status == .connected }
}
