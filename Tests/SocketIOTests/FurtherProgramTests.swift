internal import Foundation
internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanSocketIO
@testable internal import OldSocketIOPrograms
@testable internal import SocketIO
internal import Starscream
internal import TestSupport
internal import TestedBackEnds
internal import Testing

/// Programs of tutorials and of answers to questions, and what they rely on without a word about it in the documents.
@Suite(.overSomeBackEnd, .timeLimit(.minutes(3)))
struct FurtherProgramTests {
    @Test
    func `the manager of the tutorials hands lists and notifications on`() async throws {
        try await PythonServer.useOldPrograms { server in
            let lines = Journal<String>("lines")
            let token = NotificationCenter.default.addObserver(
                forName: SocketIOManager.userWasConnected, object: nil, queue: nil
            ) { lines.append("connected to \($0.object ?? "?")") }
            defer { NotificationCenter.default.removeObserver(token) }
            let chat = SocketIOManager(url: server.url, config: Carrier.websocket.options)
            chat.establishConnection()
            chat.connectToServerWithNickname("Ann") { list in
                let (user, isThere) = (list?.first, list?.first?["isConnected"] as? Bool == true)
                lines.append("\(user?["nickname"] ?? "?" as AnyObject) \(isThere) \(user?["id"] as? Int ?? -1)")
            }
            let found = try await lines.first(2)
            #expect(Set(found) == ["connected to /", "Ann true 7"])
            chat.closeConnection()
        }
    }

    @Test
    func `arguments are decoded by JSONSerialization and JSONDecoder`() async throws {
        try await PythonServer.useOldPrograms { server in
            let lines = Journal<String>("results")
            let feed = OrderFeed(url: server.url, config: Carrier.websocket.options) { lines.append("\($0)") }
            let order = Order(id: 1, count: 0, isPaid: true, isGift: false, price: 2.5, whole: 3, sizes: [0, 1, 2])
            feed.send([order, order])
            let found = try await lines.first(1)
            #expect(found == ["\(Result<[Order], any Error>.success([order, order]))"])
        }
    }

    @Test
    func `a nil among values of any type is null, and values of Foundation are sent as what they are`() async throws {
        try await PythonServer.useOldPrograms { server in
            let arguments = Journal<String>("arguments")
            let manager = SocketManager(socketURL: server.url, config: Carrier.websocket.options)
            let socket = manager.defaultSocket
            socket.on("echo") { data, _ in
                let json = try? JSONSerialization.data(withJSONObject: data, options: .sortedKeys)
                arguments.append(String(decoding: json ?? Data(), as: UTF8.self))
            }
            socket.on(clientEvent: .error) { data, _ in arguments.append("error \(data)") }
            socket.connect()
            let (name, note, point): (String?, String?, Date?) = ("Ann", nil, Date())
            socket.emit("echo", ["name": name as Any, "note": note as Any] as [String: Any])
            socket.emit("echo", with: [note as Any, [name as Any, note as Any] as [Any]] as [Any])
            socket.emit("echo", with: [NSMutableDictionary(object: NSNumber(value: 1), forKey: NSString(string: "a"))])
            socket.emit("echo", NSArray(array: [1, "a", true]), NSString(string: "text"))
            socket.emit("echo", with: [UInt64.max, Int.min, 1e300] as [Any])
            let found = try await arguments.first(5)
            #expect(found[0] == #"[{"name":"Ann","note":null}]"# && found[1] == #"[null,["Ann",null]]"#)
            #expect(found[2] == #"[{"a":1}]"# && found[3] == #"[[1,"a",true],"text"]"#)
            #expect(found[4] == "[18446744073709551615,-9223372036854775808,1e+300]")
            // Not nil, and no value of JSON.
            socket.emit("echo", with: [point as Any])
            try await arguments.first { $0.hasPrefix("error") }
        }
    }

    @Test
    func `a store without reconnects is told of the end once, and connects again by its button`() async throws {
        try await PythonServer.useOldPrograms { server in
            let states = Journal<[String]>("states")
            let store = SessionStore(url: server.url, config: Carrier.websocket.options) { states.append($0) }
            store.start()
            try await states.first { $0.last == "connected" }
            await server.stop()
            let ended = try await states.first { $0.last == "disconnect" }
            #expect(ended == ["connecting", "connected", "disconnected", "disconnect"])
            try await server.start()
            store.start()
            let again = try await states.first { $0.count == 6 }
            #expect(again.suffix(2) == ["connecting", "connected"])
        }
    }

    @Test(arguments: Carrier.allCases)
    func `what was emitted leaves before disconnect, and what still waits is given up`(carrier: Carrier) async throws {
        let file = NSTemporaryDirectory() + "linkspan-notes-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: file) }
        try await PythonServer.useOldPrograms(["--notes", file]) { server in
            let (states, answers) = (Journal<[String]>("states"), Journal<Int>("answers"))
            let store = SessionStore(url: server.url, config: carrier.options) { states.append($0) }
            store.start()
            try await states.first { $0.last == "connected" }
            store.leave(with: 1)
            store.start()
            // While the socket connects.
            store.switchUser(note: 2)
            try await states.first { $0.filter { $0 == "connected" }.count == 2 }
            store.leave(with: 3)
            store.start()
            store.socket.emitWithAck("note", 4).timingOut(after: 60) { answers.append($0[0] as? Int ?? -1) }
            let found = try await answers.first(1)
            #expect(found == [4])
            let notes = try String(contentsOfFile: file, encoding: .utf8)
            #expect(notes == "1\n3\n4\n")
            #expect(store.states.contains("error of note"))
        }
    }

    @Test
    func `doubles of sockets and managers in an app's tests work without a server`() throws {
        let url = try #require(URL(string: "http://127.0.0.1:9"))
        let queue = DispatchQueue(label: "handlers")
        let manager = ManagerDouble(socketURL: url, config: [.handleQueue(queue)])
        let lobby = queue.sync {
            let lobby = Lobby(manager: manager)
            manager.double.receive("joined", "Ann")
            lobby.leave()
            return lobby
        }
        #expect(lobby.lines == ["connected", "Ann joined, false", "left: [\"double\"]"])
        #expect(manager.double.emitted.map(\.event) == ["enter"] && manager.double.connects == 1)
    }

    @Test(arguments: [Carrier.polling, .websocket])
    func `a header value or a namespace outside ASCII is an error, and no attempt follows`(
        carrier: Carrier
    ) async throws {
        let url = try #require(URL(string: "http://127.0.0.1:9"))
        let lines = Journal<String>("lines")
        var (managers, sockets) = ([SocketManager](), [SocketIOClient]())
        for (namespace, value) in [("/", "Jürgen"), ("/räume", "Ann"), ("/chat room", "Ann")] {
            let manager = SocketManager(socketURL: url, config: carrier.options + [.extraHeaders(["X-Old": value])])
            managers.append(manager)
            let socket = manager.socket(forNamespace: namespace)
            socket.on(clientEvent: .error) { data, _ in lines.append("\(data[0])") }
            socket.on(clientEvent: .disconnect) { _, _ in lines.append("disconnect") }
            socket.connect()
            sockets.append(socket)
        }
        try await lines.first(3) { $0 == "disconnect" }
        #expect(sockets.allSatisfy { $0.status == .disconnected })
        #expect(lines.entries.filter { $0 != "disconnect" }.count == 3)
        #expect(lines.entries.contains { $0.contains("the header X-Old has a character that is not allowed") })
    }

    @Test(arguments: ["/chat?token=7f3a", "chat#7f3a"])
    func `a query or a fragment in a namespace is an error without it, and no attempt follows`(
        namespace: String
    ) async throws {
        let lines = Journal<String>("lines")
        let manager = SocketManager(
            socketURL: try #require(URL(string: "http://127.0.0.1:9")), config: Carrier.websocket.options)
        let socket = manager.socket(forNamespace: namespace)
        socket.on(clientEvent: .error) { data, _ in lines.append("error: \(data[0])") }
        socket.on(clientEvent: .disconnect) { _, _ in lines.append("disconnect") }
        socket.connect()
        let found = try await lines.first(2)
        #expect(found[0].hasPrefix("error: the namespace /chat has a query or a fragment") && found[1] == "disconnect")
        #expect(!found[0].contains("7f3a") && socket.status == .disconnected)
    }

    @Test
    func `a logger of an app has the methods of version 16`() throws {
        let (former, logger) = (DefaultSocketLogger.Logger, LineLogger())
        let queue = DispatchQueue(label: "handlers")
        defer { DefaultSocketLogger.Logger = former }
        let manager = SocketManager(
            socketURL: try #require(URL(string: "http://127.0.0.1:9")),
            config: [.logger(logger), .log(true), .handleQueue(queue)])
        manager.defaultSocket.handleEvent("one", data: [], isInternalMessage: true)
        manager.defaultSocket.didError(reason: "two")
        manager.socket(forNamespace: "/chat?token=7f3a").didError(reason: "three")
        manager.defaultSocket.emit("four")
        // A logger of an app need not be safe to use from several threads.
        queue.sync {}
        #expect(logger.lines.contains("SocketIOClient{/} emits four"))
        #expect(logger.lines.first == "SocketIOClient{/} handles one")
        #expect(logger.lines.contains("ERROR SocketIOClient{/} two"))
        // A query may hold a token.
        #expect(logger.lines.contains("ERROR SocketIOClient{/chat} three"))
    }

    @Test(arguments: [Carrier.polling, .websocket])
    func `header fields that the request writes itself change nothing, and the origin is the app's`(
        carrier: Carrier
    ) async throws {
        try await PythonServer.useOldPrograms { server in
            let lines = Journal<String>("lines")
            let fields = [
                "Host": "elsewhere.example", "Content-Type": "application/json", "Content-Length": "7",
                "Transfer-Encoding": "chunked", "Origin": "https://app.example", "Accept": "application/json",
            ]
            let manager = SocketManager(socketURL: server.url, config: carrier.options + [.extraHeaders(fields)])
            let socket = manager.defaultSocket
            socket.on(clientEvent: .error) { data, _ in lines.append("error \(data)") }
            socket.connect()
            socket.emitWithAck("request").timingOut(after: 60) { data in
                lines.append((data[0] as? [String: Any])?["origin"] as? String ?? "none")
            }
            let found = try await lines.first(1)
            #expect(found == ["https://app.example"])
        }
    }

    @Test
    func `a URL may have an IPv6 address`() async throws {
        let errors = Journal<String>("errors")
        let manager = SocketManager(
            socketURL: try #require(URL(string: "http://[::1]:9")), config: Carrier.websocket.options)
        manager.defaultSocket.on(clientEvent: .error) { data, _ in errors.append(data[0] as? String ?? "?") }
        manager.connect()
        let found = try await errors.first(1)
        #expect(found[0].contains("[::1]:9"), "\(found)")
    }

    @Test
    func `what new options do not name stays: the version, pins, the carrier, the query`() async throws {
        let server = PythonServer("legacy_server.py", environment: ".venv-legacy")
        try await server.use {
            let events = Journal<String>("events")
            let manager = SocketManager(socketURL: server.url, config: Carrier.websocket.options + [.version(.two)])
            let socket = manager.defaultSocket
            socket.on(clientEvent: .connect) { _, _ in events.append("connected") }
            socket.on(clientEvent: .error) { data, _ in events.append("error \(data)") }
            socket.connect()
            try await events.first(1)
            manager.setConfigs([.extraHeaders(["Authorization": "Bearer fresh"])])
            socket.disconnect()
            socket.connect()
            let found = try await events.first(2)
            #expect(found == ["connected", "connected"] && manager.version == .two)
        }
        let policy = TLSPolicy(roots: .file("/ours.pem"))
        let options: SocketIOClientConfiguration = [
            .security(FoundationSecurity(policy: policy)), .forceWebsockets(true), .connectParams(["a": 1]),
            .extraHeaders(["b": "2"]), .cookies([]), .secure(true),
        ]
        let terms = Terms().changed(by: options).changed(by: [.extraHeaders(["c": "3"])])
        #expect(terms.configuration.tls == policy && terms.configuration.carriers == .webSocket && terms.isSecure)
        #expect(terms.credentials(nil).query.map(\.name) == ["a"])
        #expect(terms.credentials(nil).headers.map(\.name) == ["c"])
        #expect(terms.changed(by: [.forcePolling(false)]).configuration.carriers == .webSocket)
        #expect(terms.changed(by: [.forceWebsockets(false)]).configuration.carriers == .upgrade)
    }

    @Test
    func `the WebSocket is told once to all sockets there are, and not to later ones`() async throws {
        try await PythonServer.useOldPrograms { server in
            let lines = Journal<String>("lines")
            let manager = SocketManager(socketURL: server.url, config: Carrier.websocket.options)
            func socket(_ nsp: String) -> SocketIOClient {
                let socket = manager.socket(forNamespace: nsp)
                socket.on(clientEvent: .websocketUpgrade) { _, _ in lines.append("upgrade of \(nsp)") }
                socket.on("welcome") { _, _ in lines.append("welcome to \(nsp)") }
                return socket
            }
            let (first, second) = (socket("/"), socket("/news"))
            first.connect()
            try await lines.first { $0 == "welcome to /" }
            second.connect()
            try await lines.first { $0 == "welcome to /news" }
            socket("/admin").connect()
            try await lines.first { $0 == "welcome to /admin" }
            let upgrades = lines.entries.filter { $0.hasPrefix("upgrade") }
            #expect(upgrades.sorted() == ["upgrade of /", "upgrade of /news"])
        }
    }
}
