import Foundation
import Linkspan
import LinkspanSocketIO
import LinkspanWebSocket

/// W1: `echo` with one string of 64 characters over Socket.IO, 64 under way.
///
/// The listener looks at the JSON as it came; that of `string` makes a string of it.
enum EchoWorkload {
    static func run(port: Int, server: EchoServer) async throws {
        try await Self.run("W1", port: port, server: server) { $0.text.count == 66 }
    }

    static func runString(port: Int, server: EchoServer) async throws {
        try await Self.run("W1 string", port: port, server: server) { $0.string?.utf8.count == 64 }
    }

    private static func run(
        _ name: String, port: Int, server: EchoServer, check: @escaping @Sendable (PayloadValue) -> Bool
    ) async throws {
        let count = Length.of(200_000)
        let text = String(repeating: "x", count: 64)
        let connection = try ConnectionBuilder("http://127.0.0.1:\(port)").transport(Network.socketIO).connect()
        defer { connection.release() }
        let window = Window { try? connection.send("echo", text) }
        try connection.on("echo") { message in
            precondition(message.payload[0].map(check) == true, "the echo is not what was sent")
            window.cameBack()
        }
        await window.run(count / 20, width: 64)
        let measurement = Measurement(server: server)
        await window.run(count, width: 64)
        measurement.report(name, messages: count)
    }
}

/// W7: binary messages of 64 bytes over a raw WebSocket, 64 under way.
enum RawEchoWorkload {
    static func run(port: Int, server: EchoServer) async throws {
        let count = Length.of(500_000)
        let payload = try Payload(Data(repeating: 7, count: 64))
        let transport = Network.raw
        let connection = try ConnectionBuilder("ws://127.0.0.1:\(port)/raw").transport(transport).connect()
        defer { connection.release() }
        let window = Window { try? connection.perform(Command(.send, event: "binary", payload: payload)) }
        try connection.on("binary") { message in
            precondition(message.payload.attachments[0].count == 64, "the echo is not what was sent")
            window.cameBack()
        }
        await window.run(count / 20, width: 64)
        let measurement = Measurement(server: server)
        await window.run(count, width: 64)
        measurement.report("W7", messages: count)
    }
}

/// W4: binary `echo` of 64 KiB over Socket.IO, 4 under way; W8: 1 MiB over a raw WebSocket, one after the other.
enum BinaryWorkload {
    static func runSocketIO(server: EchoServer) async throws {
        let connection = try ConnectionBuilder("http://127.0.0.1:\(server.port)").transport(Network.socketIO).connect()
        defer { connection.release() }
        try await Self.run("W4", connection, "echo", size: 64 << 10, count: 5_000, width: 4, server: server)
    }

    static func runRaw(server: EchoServer) async throws {
        let transport = Network.raw
        let connection = try ConnectionBuilder("ws://127.0.0.1:\(server.port)/raw").transport(transport).connect()
        defer { connection.release() }
        try await Self.run("W8", connection, "binary", size: 1 << 20, count: 500, width: 1, server: server)
    }

    /// `payload=N`: raw echoes of N bytes.
    static func run(payload size: Int, server: EchoServer) async throws {
        let transport = Network.raw
        let connection = try ConnectionBuilder("ws://127.0.0.1:\(server.port)/raw?n=\(size)").transport(transport)
            .connect()
        defer { connection.release() }
        let count = max(500, min(200_000, (256 << 20) / max(1, size)))
        let width = max(1, min(64, (1 << 18) / max(1, size)))
        try await Self.run(
            "payload=\(size)", connection, "binary", size: size, count: count, width: width, server: server)
    }

    private static func run(
        _ name: String, _ connection: ConnectionHandler, _ event: String, size: Int, count: Int, width: Int,
        server: EchoServer
    ) async throws {
        let payload = try Payload(Data(repeating: 7, count: size))
        let window = Window { try? connection.perform(Command(.send, event: event, payload: payload)) }
        try connection.on(event) { message in
            precondition(message.payload.attachments[0].count == size, "the echo is not what was sent")
            window.cameBack()
        }
        await window.run(max(width, count / 20), width: width)
        let measurement = Measurement(server: server)
        await window.run(count, width: width)
        measurement.report(name, messages: count)
    }
}
