internal import Foundation
internal import Linkspan
internal import SocketIO
internal import TestSupport
internal import TestedBackEnds
internal import Testing

/// Handlers, their arguments, and where they are called.
@Suite(.overSomeBackEnd, .timeLimit(.minutes(3)))
struct HandlerTests {
    @Test
    func `any thread may call, and handlers are called on the queue`() async throws {
        try await PythonServer.useOldPrograms { server in
            let (echoes, strays) = (Journal<Int>("echoes"), Journal<String>("events elsewhere"))
            let (queue, key) = (DispatchQueue(label: "the only one"), DispatchSpecificKey<Bool>())
            queue.setSpecific(key: key, value: true)
            var config = Carrier.websocket.options
            config.insert(.handleQueue(queue))
            nonisolated(unsafe) let manager = SocketManager(socketURL: server.url, config: config)
            nonisolated(unsafe) let socket = manager.defaultSocket
            socket.onAny { if DispatchQueue.getSpecific(key: key) != true { strays.append($0.event) } }
            socket.on("echo") { data, _ in echoes.append(data[0] as? Int ?? -1) }
            let count = 8
            DispatchQueue.concurrentPerform(iterations: count) { thread in
                socket.connect()
                for number in 0..<50 {
                    socket.emit("echo", thread * 50 + number)
                    socket.off(id: socket.on("nothing") { _, _ in })
                    (manager.reconnectWait, manager.forceNew) = (number, !manager.forceNew)
                    manager.config.insert(.log(false))
                    _ = (socket.status, socket.sid, socket.handlers.count, manager.status, manager.nsps.count)
                    manager.socket(forNamespace: "/\(thread)").once("nothing") { _, _ in }
                }
            }
            let numbers = try await echoes.first(count * 50)
            for thread in 0..<count {
                #expect(numbers.filter { $0 / 50 == thread } == Array(thread * 50..<(thread + 1) * 50))
            }
            #expect(strays.entries.isEmpty)
            #expect(manager.nsps.count == count + 1)
        }
    }

    @Test
    func `what a handler does is told within the call, also when two managers share a queue`() async throws {
        let url = try #require(URL(string: "http://127.0.0.1:9"))
        let managers = [SocketManager(socketURL: url), SocketManager(socketURL: url)]
        let counts = Journal<[Int]>("errors told within the call")
        DispatchQueue.main.async {
            counts.append(
                managers.map { manager in
                    var count = 0
                    manager.defaultSocket.on(clientEvent: .error) { _, _ in count += 1 }
                    manager.defaultSocket.didError(reason: "at once")
                    return count
                })
        }
        let found = try await counts.first(1)
        #expect(found == [[1, 1]])
    }

    @Test
    func `threads that make managers and set their queue do not disturb handlers on it`() async throws {
        let url = try #require(URL(string: "http://127.0.0.1:9"))
        let queue = DispatchQueue(label: "shared")
        nonisolated(unsafe) let first = SocketManager(socketURL: url)
        first.handleQueue = queue
        let calls = Journal<Int>("calls of handlers")
        nonisolated(unsafe) let socket = first.defaultSocket
        socket.on(clientEvent: .error) { data, _ in calls.append(data.count) }
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            for _ in 0..<2_000 {
                first.handleQueue = queue
                SocketManager(socketURL: url, config: [.handleQueue(queue)]).handleQueue = queue
            }
            for _ in 0..<500 { queue.async { socket.didError(reason: "at once") } }
        }
        try await calls.first(8 * 500)
    }

    @Test
    func `each kind of value comes back as it was sent`() async throws {
        try await PythonServer.useOldPrograms { server in
            let (lines, manager) = (
                Journal<[String]>("values"), SocketManager(socketURL: server.url, config: Carrier.websocket.options)
            )
            manager.defaultSocket.on("echo") { data, _ in lines.append(data.map(Self.text)) }
            manager.connect()
            manager.defaultSocket.emit(
                "echo", 1, 2.5, "th\"ree", true, false, NSNull(), [1, "two"] as [Any], ["a": ["b": 3]],
                Data([7, 8]), ["deep": [Data([9])]], Int.max)
            manager.defaultSocket.emit("echo")
            manager.defaultSocket.emit("echo", "alone")
            manager.defaultSocket.emit("echo", Point(x: 3), 4)
            manager.defaultSocket.emit("echo", [CGFloat(1.5), Float(2.5), Int8(5), Int64(-7)] as [Any])
            let values = try await lines.first(5)
            #expect(values[0][..<6] == ["int 1", "double 2.5", "string th\"ree", "bool true", "bool false", "null"])
            #expect(values[0][6...8] == ["[int 1, string two]", "{a: {b: int 3}}", "data [7, 8]"])
            #expect(values[0][9...] == ["{deep: [data [9]]}", "int 9223372036854775807"])
            #expect(values[1...3] == [[], ["string alone"], ["{x: int 3}", "int 4"]])
            #expect(values[4] == ["[double 1.5, double 2.5, int 5, int -7]"])
        }
    }

    /// A value of an app's own.
    private struct Point: SocketData {
        let x: Int

        func socketRepresentation() throws -> any SocketData {
            guard self.x > 0 else { throw Negative() }
            return ["x": self.x]
        }
    }

    private struct Negative: Error {}

    /// A value as a program sees it by `as?`.
    private static func text(_ value: Any) -> String {
        switch value {
        case is NSNull: "null"
        case let number as NSNumber where "\(type(of: number))".contains("Bool") || number.objCType.pointee == 99:
            "bool \(number.boolValue)"
        case let text as String: "string \(text)"
        case let data as Data: "data \(Array(data))"
        case let list as [Any]: "[\(list.map(Self.text).joined(separator: ", "))]"
        case let object as [String: Any]: "{\(object.map { "\($0): \(Self.text($1))" }.joined(separator: ", "))}"
        case let number as Int: "int \(number)"
        case let number as Double: "double \(number)"
        default: "?"
        }
    }

    @Test
    func `a value that cannot be sent is an error with the event and the arguments`() async throws {
        try await PythonServer.useOldPrograms { server in
            let errors = Journal<String>("errors")
            let manager = SocketManager(socketURL: server.url, config: Carrier.websocket.options)
            let socket = manager.defaultSocket
            socket.on(clientEvent: .error) { data, _ in
                errors.append("\(data[0]) \((data[1] as? [Any])?.count ?? -1) \(data[2] is Negative)")
            }
            socket.connect()
            let done = Journal<String>("completions")
            socket.emit("echo", Point(x: -1)) { done.append("emit") }
            socket.emit("echo", with: [Date(), 2] as [Any])
            socket.emitWithAck("echo", Point(x: -1)).timingOut(after: 60) { done.append($0[0] as? String ?? "?") }
            try await errors.first(3)
            #expect(errors.entries == ["echo 1 true", "echo 2 false", "echo 1 true"])
            let found = try await done.first(2)
            #expect(found == ["emit", "NO ACK"])
        }
    }

    @Test
    func `an emit that is more than the server accepts is an error with the event and the arguments`() async throws {
        try await PythonServer.useOldPrograms { server in
            let errors = Journal<String>("errors")
            let manager = SocketManager(socketURL: server.url, config: Carrier.websocket.options)
            let socket = manager.defaultSocket
            socket.on(clientEvent: .error) { data, _ in
                let text = (data[1] as? [Any])?.first as? String
                let code = (data[2] as? LinkspanError)?.code.rawValue
                errors.append("\(data[0]) \(text?.utf8.count ?? -1) \(code ?? "?")")
            }
            socket.on("welcome") { _, _ in socket.emit("echo", String(repeating: "x", count: 17 << 20)) }
            socket.connect()
            let found = try await errors.first(1)
            #expect(found == ["echo \(17 << 20) messageTooLarge"])
        }
    }

    @Test
    func `a completion is called when the event has left`() async throws {
        try await PythonServer.useOldPrograms { server in
            let lines = Journal<String>("lines")
            let manager = SocketManager(socketURL: server.url, config: Carrier.websocket.options)
            manager.defaultSocket.on("echo") { _, _ in lines.append("echo") }
            manager.connect()
            manager.defaultSocket.emit("echo", 1) { lines.append("waited") }
            try await lines.first(2)
            manager.defaultSocket.emit("echo", 2) { lines.append("left") }
            try await lines.first(4)
            #expect(Set(lines.entries) == ["waited", "left", "echo"])
        }
    }

    @Test
    func `an event is acknowledged once, by the first answer`() async throws {
        try await PythonServer.useOldPrograms { server in
            let lines = Journal<String>("lines")
            let manager = SocketManager(socketURL: server.url, config: Carrier.websocket.options)
            let socket = manager.defaultSocket
            socket.on("question") { data, ack in
                lines.append("\(ack.expected) \(data[0])")
                ack.with("yes", 7)
                ack.with("no")
            }
            socket.on("answered") { data, ack in lines.append("\(ack.expected) \(data[0]) \(data[1])") }
            socket.connect()
            socket.emit("ask", "well?")
            let found = try await lines.first(2)
            #expect(found == ["true well?", "false yes 7"])
        }
    }

    @Test
    func `onAny sees events that nobody handles, whenever it is set`() async throws {
        try await PythonServer.useOldPrograms { server in
            let (names, ready) = (Journal<String>("names"), Journal<String>("ready"))
            let manager = SocketManager(socketURL: server.url, config: Carrier.websocket.options)
            let socket = manager.defaultSocket
            socket.on("welcome") { _, _ in ready.append("") }
            socket.connect()
            try await ready.first(1)
            socket.onAny { event in names.append("\(event.event) \(event.items?.count ?? -1)") }
            socket.on("handled") { _, _ in names.append("handler") }
            socket.emit("echo", 1, 2)
            try await names.first { $0 == "echo 2" }
            socket.handleClientEvent(.ping, data: [])
            try await names.first { $0 == "ping 0" }
        }
    }

    /// A socket that looks at everything itself.
    private final class Watcher: SocketIOClient {
        let names = Journal<String>("names")

        override func handleEvent(_ event: String, data: [Any], isInternalMessage: Bool, withAck ack: Int = -1) {
            self.names.append("\(event) \(isInternalMessage)")
            super.handleEvent(event, data: data, isInternalMessage: isInternalMessage, withAck: ack)
        }

        override func handleAck(_ ack: Int, data: [Any]) {
            self.names.append("ack \(data.count)")
            super.handleAck(ack, data: data)
        }
    }

    @Test
    func `a subclass sees events that nobody handles`() async throws {
        try await PythonServer.useOldPrograms { server in
            let manager = SocketManager(socketURL: server.url, config: Carrier.websocket.options)
            let socket = Watcher(manager: manager, nsp: "/news")
            manager.nsps["/news"] = socket
            socket.connect()
            socket.emitWithAck("echo", 1).timingOut(after: 60) { _ in }
            try await socket.names.entries {
                Set($0).isSuperset(of: ["welcome false", "echo false", "ack 1", "connect true"])
            }
        }
    }

    @Test
    func `handlers end one by one, by event, and all together`() throws {
        let url = try #require(URL(string: "http://127.0.0.1:9"))
        let manager = SocketManager(socketURL: url)
        let (socket, names) = (manager.defaultSocket, Journal<String>("names"))
        let first = socket.on("a") { _, _ in names.append("first") }
        socket.on("a") { _, _ in names.append("second") }
        socket.once("b") { _, _ in names.append("once") }
        socket.on(clientEvent: .pong) { _, _ in names.append("pong") }
        socket.once(clientEvent: .ping) { _, _ in names.append("ping") }
        func happens() -> [String] {
            let before = names.entries.count
            for event in ["a", "b"] { socket.handleEvent(event, data: [], isInternalMessage: true) }
            for event in [SocketClientEvent.ping, .pong] { socket.handleClientEvent(event, data: []) }
            return Array(names.entries[before...])
        }
        #expect(happens() == ["first", "second", "once", "ping", "pong"])
        #expect(happens() == ["first", "second", "pong"])
        socket.off(id: first)
        socket.off(clientEvent: .pong)
        #expect(happens() == ["second"])
        socket.off("a")
        #expect(happens().isEmpty)
        socket.on("a") { _, _ in names.append("third") }
        #expect(socket.handlers.map(\.event) == ["a"])
        socket.removeAllHandlers()
        #expect(happens().isEmpty)
        // Those of the server only while the socket is up.
        socket.on("a") { _, _ in names.append("fourth") }
        socket.handleEvent("a", data: [], isInternalMessage: false)
        #expect(names.entries.last != "fourth")
    }

    @Test
    func `a view without a search for data is the object itself`() {
        #expect(SocketRawView.self == SocketIOClient.self)
        #expect(SocketRawAckView.self == SocketAckEmitter.self)
    }

    @Test
    func `a manager has one socket for each namespace, and forgets those it is told to`() throws {
        let url = try #require(URL(string: "http://127.0.0.1:9"))
        let manager = SocketManager(socketURL: url, config: Carrier.websocket.options)
        let admin = manager.socket(forNamespace: "admin")
        #expect(manager.socket(forNamespace: "/admin") === admin)
        #expect(manager.defaultSocket.nsp == "/")
        #expect(manager.status == .notConnected)
        #expect(manager.removeSocket(admin) === admin)
        #expect(manager.removeSocket(admin) == nil)
        let next = manager.socket(forNamespace: "/admin")
        #expect(next !== admin)
        next.connect()
        #expect(manager.status == .connecting && manager.status.active)
        manager.disconnectSocket(forNamespace: "/admin")
        #expect(next.status == .disconnected && manager.nsps["/admin"] == nil)
    }

    @Test
    func `a manager whose last socket was removed is disconnected`() throws {
        let url = try #require(URL(string: "http://127.0.0.1:9"))
        let manager = SocketManager(socketURL: url, config: Carrier.websocket.options)
        manager.removeSocket(manager.defaultSocket)
        #expect(manager.status == .notConnected)
        manager.connect()
        #expect(manager.status == .connecting)
        manager.disconnectSocket(forNamespace: "/")
        #expect(manager.nsps.isEmpty && manager.status == .disconnected)
        _ = manager.defaultSocket
        #expect(manager.status == .disconnected)
    }
}
