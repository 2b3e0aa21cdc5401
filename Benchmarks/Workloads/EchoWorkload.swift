import Linkspan
import LinkspanSocketIO

/// W1: `echo` with one string of 64 characters over Socket.IO, 64 under way.
///
/// The listener looks at the JSON as it came, and in a second run makes a string of it.
enum EchoWorkload {
    static func run(port: Int, server: EchoServer) async throws {
        try await Self.run("W1", port: port, server: server) { $0.text.count == 66 }
        try await Self.run("W1 string", port: port, server: server) { $0.string?.utf8.count == 64 }
    }

    private static func run(
        _ name: String, port: Int, server: EchoServer, check: @escaping @Sendable (PayloadValue) -> Bool
    ) async throws {
        let count = 200_000
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
