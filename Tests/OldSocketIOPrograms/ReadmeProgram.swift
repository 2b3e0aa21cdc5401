// Written in the style of the old documents.
// swift-format-ignore-file

import Foundation
import SocketIO

/// The example of the README, with `show` for `print` and the server's URL in place of `http://localhost:8080`.
public final class ReadmeProgram {
    public let manager: SocketManager
    public let socket: SocketIOClient

    public init(url: URL, config: SocketIOClientConfiguration = [.log(true), .compress], show: @escaping (String) -> Void) {
        manager = SocketManager(socketURL: url, config: config)
        let socket = manager.defaultSocket
        self.socket = socket

        socket.on(clientEvent: .connect) {data, ack in
            show("socket connected")
            socket.emit("start")
        }

        socket.on("currentAmount") {data, ack in
            guard let cur = data[0] as? Double else { return }

            socket.emitWithAck("canUpdate", cur).timingOut(after: 0) {data in
                socket.emit("update", ["amount": cur + 2.50])
            }

            ack.with("Got your currentAmount", "dude")
        }

        socket.on("acknowledged") {data, ack in
            show("server heard \(data[0]), \(data[1])")
        }

        socket.on("updated") {data, ack in
            guard let change = data[0] as? [String: Any], let amount = change["amount"] as? Double else { return }
            show("updated to \(amount)")
        }

        socket.connect()
    }
}
