// Written in the style of the old documents.
// swift-format-ignore-file

import Foundation
import SocketIO

/// Uploads a file in pieces, each acknowledged before the next.
public final class Uploader {
    public let manager: SocketManager
    private let socket: SocketIOClient
    private let pieces: [Data]
    private var received = Data()
    private let done: (Data?) -> Void

    public init(url: URL, config: SocketIOClientConfiguration, file: Data, piece: Int, done: @escaping (Data?) -> Void) {
        manager = SocketManager(socketURL: url, config: config)
        socket = manager.defaultSocket
        self.done = done
        pieces = stride(from: 0, to: file.count, by: piece).map { file[$0..<min($0 + piece, file.count)] }
        socket.once(clientEvent: .connect) { [weak self] _, _ in
            self?.upload(0)
        }
        socket.connect()
    }

    private func upload(_ index: Int) {
        guard index < pieces.count else { return done(received) }
        socket.emitWithAck("upload", "photo.jpg", index, pieces[index]).timingOut(after: 30) { [weak self] data in
            guard let self = self else { return }
            if let status = data[0] as? String, status == SocketAckStatus.noAck {
                return self.upload(index)
            }
            guard let answer = data[0] as? [String: Any], answer["index"] as? Int == index,
                let chunk = answer["chunk"] as? Data
            else { return self.done(nil) }
            self.received.append(chunk)
            self.upload(index + 1)
        }
    }
}
