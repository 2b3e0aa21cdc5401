// Written in the style of the old documents.
// swift-format-ignore-file

import Foundation
import SocketIO

public struct Order: Codable {
    public var id, count: Int
    public var isPaid, isGift: Bool
    public var price, whole: Double
    public var note: String?
    public var sizes: [Int]

    public init(id: Int, count: Int, isPaid: Bool, isGift: Bool, price: Double, whole: Double, sizes: [Int]) {
        (self.id, self.count, self.isPaid, self.isGift) = (id, count, isPaid, isGift)
        (self.price, self.whole, self.sizes) = (price, whole, sizes)
    }
}

/// Decodes arguments by JSONSerialization and JSONDecoder, as most apps do, and sends Codable values as dictionaries.
public final class OrderFeed {
    public let manager: SocketManager
    private let socket: SocketIOClient

    public init(url: URL, config: SocketIOClientConfiguration, receive: @escaping (Result<[Order], Error>) -> Void) {
        manager = SocketManager(socketURL: url, config: config)
        socket = manager.defaultSocket
        socket.on("echo") { data, _ in
            receive(Result {
                let json = try JSONSerialization.data(withJSONObject: data[0])
                return try JSONDecoder().decode([Order].self, from: json)
            })
        }
        socket.connect()
    }

    public func send(_ orders: [Order]) {
        guard let data = try? JSONEncoder().encode(orders),
            let list = try? JSONSerialization.jsonObject(with: data, options: []) as? [[String: Any]]
        else { return }
        socket.emit("echo", list)
    }
}
