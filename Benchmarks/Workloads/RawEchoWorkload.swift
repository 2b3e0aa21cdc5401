import Foundation
import Linkspan
import LinkspanWebSocket

/// W7: binary messages of 64 bytes over a raw WebSocket, 64 under way.
enum RawEchoWorkload {
    static func run(port: Int, server: EchoServer) async throws {
        let count = 500_000
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
