import Foundation
import Starscream

// Uploads a file in pieces, each written when the one before has left.
class BinaryUpload {
    private let socket: WebSocket
    private var pieces: [Data]
    private(set) var echoed = Data()
    var onProgress: ((Int) -> Void)?
    var onEchoed: ((Data) -> Void)?

    init(request: URLRequest, file: Data, pieceSize: Int) {
        pieces = stride(from: 0, to: file.count, by: pieceSize).map {
            file.subdata(in: $0..<min($0 + pieceSize, file.count))
        }
        socket = WebSocket(request: request)
        socket.callbackQueue = DispatchQueue(label: "com.example.upload")
        let total = file.count
        socket.onEvent = { [weak self] event in
            guard let self = self else { return }
            switch event {
            case .connected:
                self.writeNext()
            case .binary(let data):
                self.echoed.append(data)
                if self.echoed.count == total { self.onEchoed?(self.echoed) }
            default:
                break
            }
        }
    }

    func start() {
        socket.connect()
    }

    private func writeNext() {
        guard !pieces.isEmpty else { return }
        socket.write(data: pieces.removeFirst()) { [weak self] in
            guard let self = self else { return }
            self.onProgress?(self.pieces.count)
            self.writeNext()
        }
    }
}
