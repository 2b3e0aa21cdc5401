internal import Foundation
internal import LinkspanDevServer
internal import LinkspanKit
internal import LinkspanTesting
internal import TestSupport
internal import Testing

@testable internal import Ports

/// A feature that was written for Socket.IO, with another file.
@Suite(.timeLimit(.minutes(2)))
struct BrokerTests {
    /// Starts what a file chooses, and connects.
    private static func start(_ transport: String) async throws -> (Messaging, ConnectionHandler) {
        let file = NSTemporaryDirectory() + "room-\(UUID().uuidString).yaml"
        defer { try? FileManager.default.removeItem(atPath: file) }
        try "linkspan: { transport: \(transport) }".write(toFile: file, atomically: true, encoding: .utf8)
        let messaging = try await Messaging.start(ConfigurationLoader(catalog: .standard).load(file: file).plan)
        return (messaging, try await messaging.connect())
    }

    /// Has the feature say a line, hear one and ask who is there.
    private static func use(_ transport: String) async throws {
        let lines = Journal<RoomLine>("lines")
        let (messaging, connection) = try await Self.start(transport)
        let room = try ChatRoom(connection) { lines.append($0) }
        // Until both sides have subscribed.
        try await eventually("the other side answers") { (try? await room.members(of: "lobby")) == ["ann", "bob"] }
        _ = try await room.say("hello", in: "lobby")
        #expect(try await lines.first(1) == [RoomLine(room: "lobby", text: "hello")])
        await messaging.stop()
    }

    @Test(arguments: [("mqtt", "mosquitto"), ("nats", "nats-server")])
    func `a feature for Socket.IO runs over a broker with another file`(name: String, program: String) async throws {
        let folder = NSTemporaryDirectory() + "broker-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let broker = PythonServer("broker.py", ["--broker", program, "--folder", folder])
        try await broker.use {
            let url = "ws://127.0.0.1:\(broker.port)"
            let transport = "{ adapter: websocket, websocket: { url: '\(url)', protocol: \(name) } }"
            // In place of the server of the room.
            let (messaging, other) = try await Self.start(transport)
            _ = try other.on("say") { say in
                if let line = try? say.payload.decode(RoomLine.self) { try? other.send("line", line) }
            }
            _ = try other.on("who") { $0.reply(payload: (try? Payload(["ann", "bob"])) ?? .empty) }
            if name == "nats" {
                let stream = try PayloadValue(json: #"{"name": "room", "subjects": ["say"], "storage": "memory"}"#)
                try await eventually("the server has the stream") {
                    let answer = try? await other.request("$JS.API.STREAM.CREATE.room", stream)
                    return answer?[0]?["created"] != nil
                }
            }
            try await Self.use(transport)
            await messaging.stop()
        }
    }

    @Test
    func `the same feature runs over Socket.IO with the first file`() async throws {
        let hub = InMemoryHub()
        hub.onConnect { peer in
            peer.on("say") { message in
                peer.emit("line", message.payload)
                message.reply(.empty)
            }
            peer.on("who") { $0.reply((try? Payload(["ann", "bob"])) ?? .empty) }
        }
        let server = DevServer(hub: hub)
        try await server.start()
        try await Self.use("{ adapter: socketio, socketio: { url: '\(server.socketIOURL)' } }")
        await server.stop()
    }
}
