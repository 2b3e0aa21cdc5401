import Foundation
import Linkspan
import LinkspanSocketIO
import LinkspanWebSocket

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
