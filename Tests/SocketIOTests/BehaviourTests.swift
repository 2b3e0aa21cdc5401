internal import Foundation
internal import Linkspan
internal import OldSocketIOPrograms
internal import SocketIO
internal import TestSupport
internal import TestedBackEnds
internal import Testing

/// The rows of the table *What is the same, what is better, what differs*, a test each.
@Suite(.overSomeBackEnd, .timeLimit(.minutes(3)))
struct BehaviourTests {
    @Test func `what is emitted offline waits, in order`() async throws {
        try await PythonServer.useOldPrograms { server in
            let (manager, echoes) = (
                SocketManager(socketURL: server.url, config: Carrier.websocket.options), Journal<Int>("echoes")
            )
            let socket = manager.defaultSocket
            socket.on("echo") { data, _ in echoes.append(data[0] as? Int ?? -1) }
            socket.connect()
            for number in 0..<100 { socket.emit("echo", number) }
            #expect(try await echoes.first(100) == Array(0..<100))
            await server.stop()
            for number in 100..<200 { socket.emit("echo", number) }
            try await server.start()
            #expect(try await echoes.first(200) == Array(0..<200))
        }
    }

    @Test func `what is emitted offline is dropped with an error when that is asked for`() async throws {
        let manager = SocketManager(
            socketURL: try #require(URL(string: "http://127.0.0.1:9")), config: Carrier.websocket.options)
        let errors = Journal<String>("errors")
        manager.dropsOfflineEmits = true
        manager.defaultSocket.on(clientEvent: .error) { data, _ in errors.append(data[0] as? String ?? "?") }
        manager.defaultSocket.emit("echo", 1)
        manager.defaultSocket.connect()
        manager.defaultSocket.emit("echo", 2)
        try await errors.first(2) { $0 == "Tried emitting when not connected" }
    }

    @Test func `what is emitted after disconnect is dropped with an error`() async throws {
        try await PythonServer.useOldPrograms { server in
            let (events, echoes) = (Journal<String>("events"), Journal<Int>("echoes"))
            let manager = SocketManager(socketURL: server.url, config: Carrier.websocket.options)
            let socket = manager.defaultSocket
            socket.on(clientEvent: .error) { data, _ in events.append(data[0] as? String ?? "?") }
            socket.on("echo") { data, _ in echoes.append(data[0] as? Int ?? -1) }
            socket.connect()
            socket.emit("echo", 1)
            try await echoes.first(1)
            socket.disconnect()
            socket.emit("echo", 2) { events.append("completion") }
            let found = try await events.first(2)
            #expect(found == ["Tried emitting when not connected", "completion"])
            socket.connect()
            socket.emit("echo", 3)
            #expect(try await echoes.first(2) == [1, 3])
        }
    }

    @Test func `a new socket takes the place of one that was removed and is still held`() async throws {
        try await PythonServer.useOldPrograms { server in
            let names = Journal<String>("names")
            let manager = SocketManager(socketURL: server.url, config: Carrier.websocket.options)
            let former = manager.socket(forNamespace: "/news")
            former.on("welcome") { _, _ in names.append("former") }
            former.connect()
            try await names.first(1)
            manager.disconnectSocket(forNamespace: "/news")
            let next = manager.socket(forNamespace: "/news")
            next.on("welcome") { _, _ in names.append("next") }
            next.connect()
            #expect(try await names.first(2) == ["former", "next"])
            #expect(former.status == .disconnected && former !== next)
        }
    }

    @Test func `the path of the URL is no namespace`() async throws {
        try await PythonServer.useOldPrograms { server in
            let names = Journal<String>("namespaces")
            let manager = SocketManager(
                socketURL: server.url("http", path: "/admin?x=1"), config: Carrier.websocket.options)
            manager.defaultSocket.on("welcome") { data, _ in names.append(data[0] as? String ?? "?") }
            manager.defaultSocket.connect()
            let found = try await names.first(1)
            #expect(found == ["/"])
        }
    }

    @Test func `namespaces share one socket`() async throws {
        try await PythonServer.useOldPrograms { server in
            let engines = Journal<String>("engines")
            let manager = SocketManager(socketURL: server.url, config: Carrier.websocket.options)
            for (nsp, payload) in [("/", nil), ("/admin", ["user": "root"])] as [(String, [String: Any]?)] {
                let socket = manager.socket(forNamespace: nsp)
                socket.connect(withPayload: payload)
                socket.emitWithAck("request").timingOut(after: 60) { data in
                    engines.append((data[0] as? [String: Any])?["engine"] as? String ?? nsp)
                }
            }
            let found = Set(try await engines.first(2))
            #expect(found.count == 1)
        }
    }

    @Test func `two managers have a socket each`() async throws {
        try await PythonServer.useOldPrograms { server in
            let engines = Journal<String>("engines")
            let managers = (0..<2).map { _ in
                SocketManager(socketURL: server.url, config: Carrier.websocket.options)
            }
            for manager in managers {
                manager.connect()
                manager.defaultSocket.emitWithAck("request").timingOut(after: 60) { data in
                    engines.append((data[0] as? [String: Any])?["engine"] as? String ?? "none")
                }
            }
            let found = Set(try await engines.first(2))
            #expect(found.count == 2)
        }
    }

    @Test func `old and new code share one connection`() async throws {
        try await PythonServer.useOldPrograms { server in
            let (old, new) = (Journal<Int>("old echoes"), Journal<Int>("new echoes"))
            let manager = SocketManager(socketURL: server.url, config: Carrier.websocket.options)
            let socket = manager.defaultSocket
            socket.on("echo") { data, _ in old.append(data[0] as? Int ?? -1) }
            let connection = try #require(socket.connection)
            try connection.on("echo") { new.append((try? $0.decode(Int.self)) ?? -1) }
            try await connection.connected(within: .seconds(30))
            socket.emit("echo", 1)
            try connection.send("echo", 2)
            #expect(try await old.first(2) == [1, 2])
            #expect(try await new.first(2) == [1, 2])
        }
    }

    @Test func `an acknowledgement that does not come is NO ACK`() async throws {
        try await PythonServer.useOldPrograms { server in
            let answers = Journal<String>("answers")
            let manager = SocketManager(socketURL: server.url, config: Carrier.websocket.options)
            let socket = manager.defaultSocket
            socket.on(clientEvent: .error) { data, _ in
                if data.count == 3 { answers.append("error of \(data[0])") }
            }
            socket.connect()
            socket.emitWithAck("silence").timingOut(after: 0.5) { answers.append($0[0] as? String ?? "?") }
            let found = try await answers.first(1)
            #expect(found == [SocketAckStatus.noAck.rawValue])
            // Without a time limit it waits until the link is lost.
            socket.emitWithAck("silence").timingOut(after: 0) { _ in answers.append("called") }
            let asked = Journal<String>("echoes")
            socket.on("echo") { _, _ in asked.append("") }
            socket.emit("echo")
            try await asked.first(1)
            await server.stop()
            let all = try await answers.first(2)
            #expect(all == ["NO ACK", "error of silence"])
        }
    }

    @Test(arguments: Carrier.allCases)
    func `acknowledged emits survive twenty kills of the server`(carrier: Carrier) async throws {
        let file = NSTemporaryDirectory() + "linkspan-notes-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: file) }
        try await PythonServer.useOldPrograms(["--notes", file]) { server in
            let (acknowledged, connected) = (Journal<Int>("outcomes"), Journal<Void>("connections"))
            let manager = SocketManager(socketURL: server.url, config: carrier.options)
            let socket = manager.defaultSocket
            socket.on(clientEvent: .connect) { _, _ in connected.append(()) }
            socket.connect()
            func emit(_ numbers: Range<Int>) {
                for number in numbers {
                    socket.emitWithAck("note", number).timingOut(after: 60) { data in
                        acknowledged.append(data[0] as? Int ?? -1)
                    }
                }
            }
            for kill in 0..<20 {
                // The first half meets a link, the other one the kill.
                try await connected.first(kill + 1)
                emit(kill * 50..<kill * 50 + 25)
                try await acknowledged.first { $0 == kill * 50 + 24 }
                emit(kill * 50 + 25..<(kill + 1) * 50)
                await server.stop()
                try await server.start()
            }
            // Each has an outcome.
            try await acknowledged.first(1_000)
            let kept = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").compactMap { Int($0) }
            let confirmed = acknowledged.entries.filter { $0 >= 0 }
            #expect(acknowledged.entries.count == 1_000 && confirmed.count >= 500)
            #expect(Set(confirmed).count == confirmed.count)
            #expect(Set(confirmed).isSubset(of: Set(kept)))
            // In order, none twice.
            #expect(kept == Set(kept).sorted())
        }
    }

    @Test func `a program that makes every call compiles and runs`() async throws {
        try await PythonServer.useOldPrograms { server in
            // It logs by a class without a lock, on its queue, which others must not use.
            let former = DefaultSocketLogger.Logger
            defer { DefaultSocketLogger.Logger = former }
            let queue = DispatchQueue(label: "handlers")
            let manager = queue.sync { EveryCall.run(url: server.url, queue: queue, extra: []) }
            try await eventually { manager.status == .connected }
            queue.sync { EveryCall.end(manager) }
            #expect(manager.status != .connected)
        }
    }
}
