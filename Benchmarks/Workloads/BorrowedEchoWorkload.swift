import Foundation
import SocketIO

/// W1 as an app does it that was written for socket.io-client-swift: the same echo through the module `SocketIO`, with handlers
/// on a queue.
enum BorrowedEchoWorkload {
    static func run(server: EchoServer) async throws {
        let count = Length.of(200_000)
        let text = String(repeating: "x", count: 64)
        guard let url = URL(string: "http://127.0.0.1:\(server.port)") else { return }
        nonisolated(unsafe) let manager = SocketManager(
            socketURL: url, config: [.forceWebsockets(true), .handleQueue(DispatchQueue(label: "handlers"))])
        nonisolated(unsafe) let socket = manager.defaultSocket
        let window = Window { socket.emit("echo", text) }
        socket.on("echo") { data, _ in
            precondition((data.first as? String)?.utf8.count == 64, "the echo is not what was sent")
            window.cameBack()
        }
        socket.connect()
        await window.run(count / 20, width: 64)
        let measurement = Measurement(server: server)
        await window.run(count, width: 64)
        measurement.report("W1 borrowed", messages: count)
        manager.disconnect()
    }
}
