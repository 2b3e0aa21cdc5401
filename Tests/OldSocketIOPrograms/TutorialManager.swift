// Written in the style of the old documents.
// swift-format-ignore-file

import Foundation
import SocketIO

/// The manager of the chat tutorials: one object for the app, a completion handler for each list, and notifications.
public class SocketIOManager: NSObject {
    public static let userWasConnected = Notification.Name("userWasConnectedNotification")

    let manager: SocketManager
    public var socket: SocketIOClient!

    public init(url: URL, config: SocketIOClientConfiguration) {
        manager = SocketManager(socketURL: url, config: config)
        super.init()
        socket = manager.defaultSocket
    }

    public func establishConnection() {
        socket.connect()
    }

    public func closeConnection() {
        socket.disconnect()
    }

    public func connectToServerWithNickname(_ nickname: String, completionHandler: @escaping (_ userList: [[String: AnyObject]]?) -> Void) {
        socket.on("echo") { (dataArray, ack) -> Void in
            completionHandler(dataArray[0] as? [[String: AnyObject]])
        }
        socket.emit("echo", [["nickname": nickname, "isConnected": true, "id": 7] as [String: Any]])
        listenForOtherMessages()
    }

    private func listenForOtherMessages() {
        socket.on("welcome") { (dataArray, socketAck) -> Void in
            NotificationCenter.default.post(name: SocketIOManager.userWasConnected, object: dataArray[0] as! String)
        }
    }
}
