internal import Foundation
internal import Linkspan
@testable internal import SocketIO
internal import TestSupport
internal import TestedBackEnds
internal import Testing

/// Times of reconnects, and their client events.
@Suite(.overSomeBackEnd, .timeLimit(.minutes(3)))
struct ReconnectTests {
    private static func delays(_ retry: Retry, _ failures: [Int], random: Double) -> [Duration?] {
        failures.map { failures in
            retry.delay(
                for: RetryQuestion(error: LinkspanError(.connectionLost, "lost"), failures: failures, random: random))
        }
    }

    @Test
    func `the first attempt follows within a second, and waits grow by half up to the longest`() {
        let (retry, failures) = (Retry(), [1, 2, 3, 4, 5, 1_000])
        let shortest: [Duration?] = [0, 10, 15, 22.5, 30, 30].map { .seconds($0) }
        #expect(Self.delays(retry, failures, random: 0) == shortest)
        // Chance lengthens a wait by half at most.
        let longest: [Duration?] = [0.5, 15, 22.5, 30, 30, 30].map { .seconds($0) }
        #expect(Self.delays(retry, failures, random: 1) == longest)
        let quick = Retry(wait: -1, waitMax: 0, randomization: 7)
        #expect(Self.delays(quick, [1, 2], random: 0.5) == [.seconds(0.5), .seconds(1)])
    }

    @Test
    func `no attempt follows the last one, a permanent error, or without reconnects`() {
        #expect(Self.delays(Retry(attempts: 2), [1, 2, 3], random: 0).map { $0 == nil } == [false, false, true])
        #expect(Self.delays(Retry(isWanted: false), [1], random: 0) == [nil])
        let refusal = RetryQuestion(error: LinkspanError(.credentialsRefused, "refused"))
        #expect(Retry().delay(for: refusal) == nil)
    }

    @Test
    func `attempts are counted down, and the last one ends with disconnect`() async throws {
        let events = Journal<String>("client events")
        let manager = SocketManager(
            socketURL: try #require(URL(string: "http://127.0.0.1:9")),
            config: Carrier.websocket.options + [.reconnectAttempts(2), .reconnectWait(0), .reconnectWaitMax(0)])
        let socket = manager.defaultSocket
        socket.on(clientEvent: .reconnectAttempt) { data, _ in events.append("\(data[0] as? Int ?? -1) left") }
        socket.on(clientEvent: .disconnect) { data, _ in events.append(data[0] as? String ?? "?") }
        socket.on(clientEvent: .statusChange) { data, _ in
            events.append("\(data[0] as? SocketIOStatus ?? .notConnected) \(data[1] as? Int ?? -1)")
        }
        socket.connect()
        try await events.first { $0 == "Reconnect Failed" }
        #expect(events.entries == ["connecting 2", "2 left", "1 left", "disconnected 1", "Reconnect Failed"])
    }

    @Test
    func `a lost link is told by reconnect, attempts and connect, each with its data`() async throws {
        try await PythonServer.useOldPrograms { server in
            let events = Journal<String>("client events")
            let manager = SocketManager(socketURL: server.url, config: Carrier.websocket.options)
            let socket = manager.socket(forNamespace: "/news")
            socket.on(clientEvent: .connect) { data, _ in
                events.append("connect \(data[0]) \((data[1] as? [String: Any])?["sid"] as? String == socket.sid)")
            }
            socket.on(clientEvent: .reconnect) { data, _ in events.append("reconnect \(data.count)") }
            socket.on(clientEvent: .reconnectAttempt) { data, _ in events.append("attempt \(data[0])") }
            socket.on(clientEvent: .disconnect) { data, _ in events.append("disconnect \(data[0])") }
            socket.connect()
            try await events.first(1)
            #expect(socket.sid?.isEmpty == false)
            // While it is up, it stays so.
            socket.connect()
            try await server.restart()
            try await events.first(2) { $0 == "connect /news true" }
            #expect(Set(events.entries.dropFirst().dropLast()).isSuperset(of: ["reconnect 1", "attempt -1"]))
            manager.reconnect()
            try await events.first(3) { $0 == "connect /news true" }
            #expect(events.entries.filter { $0.hasPrefix("reconnect ") }.count == 2)
            socket.disconnect()
            socket.disconnect()
            manager.reconnect()
            #expect(socket.connection?.status.progress == .idle)
            try await events.first { $0 == "disconnect Namespace leave" }
            #expect(events.entries.filter { $0.hasPrefix("disconnect") }.count == 1)
            #expect(socket.status == .disconnected)
            #expect(socket.sid?.isEmpty == true)
        }
    }

    @Test
    func `a socket that is not up in time is given up`() async throws {
        let ends = Journal<String>("ends")
        let manager = SocketManager(
            socketURL: try #require(URL(string: "http://127.0.0.1:9")), config: Carrier.websocket.options)
        let socket = manager.defaultSocket
        socket.on(clientEvent: .disconnect) { data, _ in ends.append(data[0] as? String ?? "?") }
        socket.connect(withPayload: nil, timeoutAfter: 0.2) { ends.append("late") }
        try await ends.first(1)
        #expect(manager.status == .disconnected)
        let connection = try #require(socket.connection)
        try await eventually { connection.status.progress == .idle }
        manager.handleQueue.sync {}
        #expect(ends.entries == ["late"], "it was never up, and tells of no end")
    }

    @Test
    func `an end without a reconnect has the error's words, and one by new code is told, too`() async throws {
        let reasons = Journal<String>("reasons")
        let lonely = SocketManager(
            socketURL: try #require(URL(string: "http://127.0.0.1:9")),
            config: Carrier.websocket.options + [.reconnects(false)])
        lonely.defaultSocket.on(clientEvent: .disconnect) { data, _ in reasons.append(data[0] as? String ?? "?") }
        lonely.connect()
        #expect(try await reasons.first(1) != ["Reconnect Failed"])
        try await PythonServer.useOldPrograms { server in
            let manager = SocketManager(socketURL: server.url, config: Carrier.websocket.options)
            for (nsp, end) in [("/nowhere", "has no namespace /nowhere"), ("/", "Disconnect")] {
                let (socket, ends) = (manager.socket(forNamespace: nsp), Journal<String>("ends"))
                socket.on(clientEvent: .disconnect) { data, _ in ends.append(data[0] as? String ?? "?") }
                socket.on("welcome") { [weak socket] _, _ in try? socket?.connection?.disconnect() }
                socket.connect()
                let found = try await ends.first(1)
                #expect(nsp == "/" ? found == [end] : found[0].hasSuffix(end))
                #expect(socket.status == .disconnected)
            }
        }
    }

    @Test
    func `a ping of the server is told with its answer`() async throws {
        try await PythonServer.useOldPrograms(["--ping-interval", "1"]) { server in
            let events = Journal<String>("client events")
            let manager = SocketManager(socketURL: server.url, config: Carrier.websocket.options)
            for event in [SocketClientEvent.ping, .pong] {
                manager.defaultSocket.on(clientEvent: event) { data, _ in
                    events.append("\(event.rawValue) \(data.count)")
                }
            }
            let socket = manager.defaultSocket
            socket.on("welcome") { _, _ in socket.emit("echo") }
            socket.on("echo") { _, _ in events.append("echo") }
            manager.connect()
            let found = try await events.first(3)
            // A message is none.
            #expect(found == ["echo", "ping 0", "pong 0"])
        }
    }

    @Test
    func `a ping to a server of 2.x is told with its answer, and the WebSocket once`() async throws {
        let server = PythonServer("legacy_server.py", ["--ping-interval", "1"], environment: ".venv-legacy")
        try await server.use {
            let events = Journal<String>("client events")
            let manager = SocketManager(socketURL: server.url, config: Carrier.websocket.options + [.version(.two)])
            for event in [SocketClientEvent.ping, .pong, .websocketUpgrade] {
                manager.defaultSocket.on(clientEvent: event) { _, _ in events.append(event.rawValue) }
            }
            manager.connect()
            let found = try await events.first(5)
            #expect(found == ["websocketUpgrade", "ping", "pong", "ping", "pong"])
        }
    }

    @Test
    func `a socket that is up in time is not given up, and a kick by the server ends it`() async throws {
        try await PythonServer.useOldPrograms { server in
            let events = Journal<String>("events")
            let manager = SocketManager(socketURL: server.url, config: Carrier.websocket.options)
            let socket = manager.defaultSocket
            socket.on(clientEvent: .disconnect) { data, _ in events.append(data[0] as? String ?? "?") }
            socket.on("welcome") { _, _ in
                manager.handleQueue.asyncAfter(deadline: .now() + 0.7) { events.append("later") }
            }
            socket.connect(withPayload: nil, timeoutAfter: 0.6) { events.append("late") }
            let found = try await events.first(1)
            #expect(found == ["later"])
            socket.emit("kick")
            let all = try await events.first(2)
            #expect(all == ["later", "Got Disconnect"])
        }
    }

    @Test
    func `a manager that is released leaves its server, and its sockets are down`() async throws {
        try await PythonServer.useOldPrograms { server in
            let connected = Journal<String>("welcomes")
            var manager: SocketManager? = SocketManager(socketURL: server.url, config: Carrier.websocket.options)
            let socket = try #require(manager?.defaultSocket)
            socket.on("welcome") { _, _ in connected.append("") }
            let connection = try #require(socket.connection)
            try await connected.first(1)
            let ends = Journal<String>("ends")
            socket.on(clientEvent: .disconnect) { data, _ in ends.append(data[0] as? String ?? "?") }
            manager = nil
            try await eventually { connection.state == .disconnected }
            #expect(socket.manager == nil && socket.status == .disconnected)
            socket.emit("echo") { ends.append("emitted") }
            let found = try await ends.first(2)
            #expect(found == ["Manager Deinit", "emitted"])
        }
    }

    /// The client events of these kinds, as they come.
    private func journal(of kinds: [SocketClientEvent], at socket: SocketIOClient) -> Journal<String> {
        let events = Journal<String>("client events")
        for kind in kinds { socket.on(clientEvent: kind) { _, _ in events.append(kind.rawValue) } }
        return events
    }

    @Test
    func `two reconnects in a row are told as one, and not as the end`() async throws {
        try await PythonServer.useOldPrograms { server in
            let manager = SocketManager(socketURL: server.url, config: Carrier.websocket.options)
            let socket = manager.defaultSocket
            let events = self.journal(of: [.connect, .reconnect, .disconnect], at: socket)
            socket.once("welcome") { _, _ in
                manager.reconnect()
                manager.reconnect()
            }
            socket.connect()
            let found = try await events.first(3)
            #expect(found == ["connect", "reconnect", "connect"])
        }
    }

    @Test
    func `what is told of a link that was left does not count after the next connect`() async throws {
        try await PythonServer.useOldPrograms { server in
            let states = Journal<String>("states")
            let manager = SocketManager(socketURL: server.url, config: Carrier.websocket.options)
            let socket = manager.defaultSocket
            socket.on(clientEvent: .statusChange) { data, _ in states.append("\(data[0])") }
            do {
                manager.handleQueue.suspend()
                defer { manager.handleQueue.resume() }
                let connection = try #require(socket.connection)
                try await eventually { connection.state == .connected }
                socket.disconnect()
                socket.connect()
                try await eventually { connection.state == .connected }
            }
            let found = try await states.first(4)
            #expect(found == ["connecting", "disconnected", "connecting", "connected"])
        }
    }

    @Test
    func `attempts before disconnect are not counted after the next connect`() async throws {
        try await PythonServer.useOldPrograms { server in
            let manager = SocketManager(socketURL: server.url, config: Carrier.websocket.options)
            let socket = manager.defaultSocket
            let events = self.journal(of: [.connect, .reconnectAttempt, .disconnect], at: socket)
            socket.connect()
            try await events.first(1)
            await server.stop()
            try await events.first { $0 == "reconnectAttempt" }
            socket.disconnect()
            try await server.start()
            socket.connect()
            try await events.first(2) { $0 == "connect" }
            #expect(events.entries.suffix(2) == ["disconnect", "connect"])
        }
    }

    @Test
    func `of what nobody takes the newest are kept`() {
        var values = Numbered<Int>()
        let numbers = (0..<2_000).map { values.add($0) }
        #expect(values.remove(numbers[2_000 - 1_025]) == nil)
        #expect(values.remove(numbers[2_000 - 1_024]) == 2_000 - 1_024)
        #expect(values.remove(numbers[1_999]) == 1_999 && values.remove(numbers[1_999]) == nil)
    }

    @Test
    func `the upgrade to a WebSocket is told, with an empty dictionary`() async throws {
        try await PythonServer.useOldPrograms { server in
            let events = Journal<[String: String]?>("upgrades")
            let upgrading = SocketManager(socketURL: server.url, config: Carrier.upgrade.options)
            upgrading.defaultSocket.on(clientEvent: .websocketUpgrade) { data, _ in
                events.append(data[0] as? [String: String])
            }
            upgrading.connect()
            let upgrades = try await events.first(1)
            #expect(upgrades == [[:]])
            try await server.restart()
            try await events.first(2)
            let direct = SocketManager(socketURL: server.url, config: Carrier.websocket.options)
            direct.defaultSocket.on(clientEvent: .websocketUpgrade) { _, _ in events.append([:]) }
            direct.connect()
            try await events.first(3)
            direct.disconnect()
            direct.connect()
            try await events.first(4)
            let polling = SocketManager(socketURL: server.url, config: Carrier.polling.options)
            polling.defaultSocket.on(clientEvent: .websocketUpgrade) { _, _ in events.append(nil) }
            polling.connect()
            let carriers = Journal<String>("carriers")
            polling.defaultSocket.emitWithAck("carrier").timingOut(after: 60) {
                carriers.append($0[0] as? String ?? "?")
            }
            let found = try await carriers.first(1)
            #expect(found == ["polling"])
            #expect(events.entries.count == 4)
        }
    }
}
