import Linkspan
import LinkspanSocketIO

/// W1: `echo` with one string of 64 characters over Socket.IO, 64 under way.
enum EchoWorkload {
    static func run(port: Int, server: EchoServer) async throws {
        let count = 200_000
        let text = String(repeating: "x", count: 64)
        let connection = try ConnectionBuilder("http://127.0.0.1:\(port)").transport(.socketIO).connect()
        defer { connection.release() }
        let window = Window { try? connection.send("echo", text) }
        try connection.on("echo") { message in
            precondition(message.payload[0]?.string?.utf8.count == 64, "the echo is not what was sent")
            window.cameBack()
        }
        await window.run(count / 20, width: 64)
        let measurement = Measurement(server: server)
        await window.run(count, width: 64)
        measurement.report("W1", messages: count)
    }
}
