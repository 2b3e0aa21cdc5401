internal import Foundation
internal import TestSupport
internal import Testing

/// The calls in the documents of socket.io-client-swift 16.1.1, each with a part of the line of the program that uses it.
private let calls: [(name: String, part: String)] = [
    ("SocketManager.init(socketURL:config:)", "AppManager(socketURL: url, config: config)"),
    ("SocketManager.init(socketURL:)", "_ = SocketManager(socketURL: url)"),
    ("SocketManager.init with a dictionary", "SocketManager(socketURL: url, config: [\"log\": false"),
    ("SocketManager.config", "manager.config = config"), ("SocketManager.setConfigs(_:)", "manager.setConfigs(config)"),
    ("SocketManager.socketURL", "_ = manager.socketURL"), ("SocketManager.forceNew", "manager.forceNew = true"),
    ("SocketManager.handleQueue", "manager.handleQueue = queue"),
    ("SocketManager.reconnects", "manager.reconnects = true"),
    ("SocketManager.reconnectWait", "manager.reconnectWait = 1"),
    ("SocketManager.reconnectWaitMax", "manager.reconnectWaitMax = 5"),
    ("SocketManager.randomizationFactor", "manager.randomizationFactor = 0.5"),
    ("SocketManager.version", "manager.version == SocketIOVersion.three"),
    ("SocketManager.status", "manager.status == SocketIOStatus.notConnected"),
    ("SocketManager.defaultSocket", "manager.defaultSocket"),
    ("SocketManager.socket(forNamespace:)", "manager.socket(forNamespace: \"/admin\")"),
    ("SocketManager.nsps", "manager.nsps[\"/news\"] = own"), ("SocketManager.connect()", "manager.connect()"),
    ("SocketManager.connectSocket(_:)", "manager.connectSocket(admin)"),
    ("SocketManager.connectSocket(_:withPayload:)", "manager.connectSocket(admin, withPayload:"),
    ("SocketManager.reconnect()", "manager.reconnect()"), ("SocketManager.disconnect()", "manager.disconnect()"),
    ("SocketManager.disconnectSocket(_:)", "manager.disconnectSocket(own)"),
    ("SocketManager.disconnectSocket(forNamespace:)", "manager.disconnectSocket(forNamespace:"),
    ("SocketManager.removeSocket(_:)", "manager.removeSocket(own)"),
    ("SocketManager.emitAll(_:_:)", "manager.emitAll(\"echo\", \"all\")"),
    ("SocketManager.emitAll(clientEvent:data:)", "manager.emitAll(clientEvent: .ping, data: [])"),
    ("SocketManagerSpec", "let spec: SocketManagerSpec = manager"),
    ("a subclass of SocketManager", "open override func connectSocket("),
    ("SocketIOClientConfiguration.insert(_:)", "config.insert(.log(false))"),
    ("SocketIOClientConfiguration.insert(_:replacing:)", "replacing: false)"),
    ("option compress", ".compress,"), ("option connectParams", ".connectParams(["), ("option cookies", ".cookies(["),
    ("option extraHeaders", ".extraHeaders(["), ("option forceNew", ".forceNew(true)"),
    ("option forcePolling", ".forcePolling(false)"), ("option forceWebsockets", ".forceWebsockets(true)"),
    ("option enableSOCKSProxy", ".enableSOCKSProxy(false)"), ("option handleQueue", ".handleQueue(queue)"),
    ("option log", ".log(false),"), ("option logger", ".logger(logger)"), ("option path", ".path(\"/socket.io/\"),"),
    ("option reconnects", ".reconnects(true)"), ("option reconnectAttempts", ".reconnectAttempts(-1)"),
    ("option reconnectWait", ".reconnectWait(1)"), ("option reconnectWaitMax", ".reconnectWaitMax(5)"),
    ("option randomizationFactor", ".randomizationFactor(0.5)"), ("option secure", ".secure(false)"),
    ("option security", ".security(pinner)"),
    ("a switch over all options", "case .version(let version): return version"),
    ("option selfSigned", ".selfSigned(false)"),
    ("option useCustomEngine", ".useCustomEngine(false)"), ("option version", ".version(.three)"),
    ("SocketIOClient.init(manager:nsp:)", "AppSocket(manager: manager, nsp: \"/news\")"),
    ("SocketIOClient.connect()", "socket.connect()"),
    ("SocketIOClient.connect(withPayload:)", "admin.connect(withPayload: [\"user\": \"root\"])"),
    ("SocketIOClient.connect(withPayload:timeoutAfter:withHandler:)", "timeoutAfter: 30) {}"),
    ("SocketIOClient.disconnect()", "own.disconnect()"), ("SocketIOClient.joinNamespace()", "own.joinNamespace()"),
    ("SocketIOClient.joinNamespace(withPayload:)", "own.joinNamespace(withPayload:"),
    ("SocketIOClient.leaveNamespace()", "own.leaveNamespace()"),
    ("SocketIOClient.emit(_:)", "socket.emit(\"echo\")"),
    ("SocketIOClient.emit(_:_:)", "socket.emit(\"echo\", 1, 2.5, \"three\", true"),
    ("SocketIOClient.emit(_:_:completion:)", "socket.emit(\"echo\", Profile(name: \"Erik\", age: 24)) {"),
    ("SocketIOClient.emit(_:with:completion:)", "socket.emit(\"echo\", with: [\"list\"], completion: nil)"),
    ("SocketIOClient.emitWithAck(_:_:)", "socket.emitWithAck(\"note\", 1).timingOut(after: 1)"),
    ("SocketIOClient.emitWithAck(_:with:)", "socket.emitWithAck(\"note\", with: [2]).timingOut(after: 0)"),
    ("SocketIOClient.emitAck(_:with:)", "socket.emitAck(0, with:"),
    ("SocketIOClient.on(_:callback:)", "socket.on(\"question\")"),
    ("SocketIOClient.on(clientEvent:callback:)", "socket.on(clientEvent: .connect)"),
    ("SocketIOClient.once(_:callback:)", "socket.once(\"echo\")"),
    ("SocketIOClient.once(clientEvent:callback:)", "socket.once(clientEvent: .connect)"),
    ("SocketIOClient.onAny(_:)", "socket.onAny {"), ("SocketIOClient.off(_:)", "socket.off(\"question\")"),
    ("SocketIOClient.off(clientEvent:)", "socket.off(clientEvent: .pong)"),
    ("SocketIOClient.off(id:)", "socket.off(id: id)"),
    ("SocketIOClient.removeAllHandlers()", "own.removeAllHandlers()"),
    ("SocketIOClient.handlers", "socket.handlers.first"), ("SocketIOClient.anyHandler", "socket.anyHandler"),
    ("SocketIOClient.sid, status, nsp, manager", "(socket.sid, socket.status, socket.nsp, socket.manager === manager)"),
    ("SocketIOClient.handleAck(_:data:)", "socket.handleAck(0, data:"),
    ("SocketIOClient.handleClientEvent(_:data:)", "socket.handleClientEvent(.statusChange, data:"),
    ("SocketIOClient.handleEvent(_:data:isInternalMessage:withAck:)", "socket.handleEvent(\"echo\", data: []"),
    ("SocketIOClient.didError(reason:)", "socket.didError(reason:"),
    ("SocketIOClient.didConnect(toNamespace:payload:)", "override func didConnect(toNamespace namespace:"),
    ("SocketIOClient.didDisconnect(reason:)", "super.didDisconnect(reason: reason)"),
    ("SocketIOClient.setReconnecting(reason:)", "override func setReconnecting(reason:"),
    ("SocketIOClientSpec", "let client: SocketIOClientSpec = socket"),
    ("any SocketManagerSpec", "private let manager: any SocketManagerSpec"),
    ("any SocketIOClientSpec", "private weak var client: (any SocketIOClientSpec)?"),
    ("SocketIOClientSpec of a generic parameter", "func status<Client: SocketIOClientSpec>(of client: Client)"),
    ("an extension of SocketIOClientSpec", "extension SocketIOClientSpec {"),
    ("SocketRawView.emit(_:_:)", "socket.rawEmitView.emit(\"echo\", \"raw\")"),
    ("SocketRawView.emit(_:with:)", "socket.rawEmitView.emit(\"echo\", with:"),
    ("SocketRawView.emitWithAck(_:_:)", "socket.rawEmitView.emitWithAck(\"note\", 3)"),
    ("SocketRawView.emitWithAck(_:with:)", "socket.rawEmitView.emitWithAck(\"note\", with:"),
    ("SocketAckEmitter.expected", "ack.expected"), ("SocketAckEmitter.with(_:)", "ack.with(\"one\", 2"),
    ("SocketAckEmitter.with of a list", "ack.with([\"again\"] as [Any])"),
    ("SocketAckEmitter.rawEmitView", "ack.rawEmitView.with(\"raw\")"),
    ("client event disconnect", ".on(clientEvent: .disconnect)"), ("client event error", ".on(clientEvent: .error)"),
    ("client event ping", ".on(clientEvent: .ping)"), ("client event pong", ".on(clientEvent: .pong)"),
    ("client event reconnect", ".on(clientEvent: .reconnect)"),
    ("client event reconnectAttempt", ".on(clientEvent: .reconnectAttempt)"),
    ("client event statusChange", ".on(clientEvent: .statusChange)"),
    ("client event websocketUpgrade", ".on(clientEvent: .websocketUpgrade)"),
    ("SocketAckStatus.noAck", "SocketAckStatus.noAck.rawValue"), ("SocketData", "struct Profile: SocketData"),
    ("SocketAnyEvent", "(event.event, event.items?.count, event.description)"),
    ("SocketEventHandler", "($0.event, $0.id, $0.callback)"), ("SocketLogger", "class AppLogger: SocketLogger"),
    ("DefaultSocketLogger.Logger", "DefaultSocketLogger.Logger = logger"),
    ("SocketLogger.log(_:type:)", "DefaultSocketLogger.Logger.log(\"line\""),
    ("SocketLogger.error(_:type:)", "DefaultSocketLogger.Logger.error(\"line\""),
]

@Suite struct CallListTests {
    @Test
    func `each documented call is in the program that uses every call`() throws {
        let program = try SourceFiles.text("Tests/OldSocketIOPrograms/EveryCall.swift")
        #expect(Set(calls.map(\.name)).count == calls.count)
        for call in calls { #expect(program.contains(call.part), "\(call.name) is not used") }
    }

    @Test
    func `old programs import nothing but Foundation, SocketIO and what that stood on`() throws {
        let allowed: Set = ["import Foundation", "import SocketIO", "import Starscream", "import Combine"]
        let imports = try SourceFiles.imports("Tests/OldSocketIOPrograms")
        #expect(imports.isSubset(of: allowed), "\(imports)")
    }

    @Test
    func `each row of the table names a test there is`() throws {
        let folder = "Tests/SocketIOTests"
        let tests = try SourceFiles.names(folder).filter { $0.hasSuffix(".swift") }
            .map { try SourceFiles.text("\(folder)/\($0)") }.joined()
        let page = try SourceFiles.text("Plugins/Compatibility/SocketIO/Documentation.docc/SocketIO.md")
        let rows = page.split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst(2)
        #expect(rows.count > 15)
        for row in rows {
            let proofs = (row.components(separatedBy: " | ").last ?? "").matches(of: /`([^`]+)`/).map(\.1)
            #expect(!proofs.isEmpty, "\(row)")
            for proof in proofs {
                #expect(tests.contains("func `\(proof)`") || tests.contains("struct \(proof) "), "\(proof)")
            }
        }
    }
}
