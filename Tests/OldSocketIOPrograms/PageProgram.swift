import Foundation
import SocketIO

/// The example on the module's page.
func pageProgram(url: URL) {
    let manager = SocketManager(socketURL: url, config: [.log(true), .compress])
    let socket = manager.defaultSocket

    socket.on(clientEvent: .connect) { data, ack in
        socket.emit("hello", ["name": "Ann"])
    }
    socket.connect()
}
