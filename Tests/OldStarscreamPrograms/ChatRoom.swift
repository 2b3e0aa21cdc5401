import Foundation
import Starscream

struct ChatMessage: Codable, Equatable {
    var author: String
    var body: String

    init(author: String, body: String) {
        self.author = author
        self.body = body
    }
}

// The client of a chat tutorial: messages as JSON in text frames, a sub-protocol, and a queue of its own.
class ChatRoom {
    private(set) var messages: [ChatMessage] = []
    var messagesChanged: (([ChatMessage]) -> Void)?
    private let socket: WebSocket
    private let name: String

    init(url: URL, name: String) {
        self.name = name
        var request = URLRequest(url: url)
        request.setValue("chat,other", forHTTPHeaderField: "Sec-WebSocket-Protocol")
        request.setValue(name, forHTTPHeaderField: "X-Name")
        socket = WebSocket(request: request, compressionHandler: WSCompression())
        socket.callbackQueue = DispatchQueue(label: "com.example.chat")
        socket.onEvent = { [weak self] event in
            switch event {
            case .connected:
                self?.send("\(name) joined")
            case .text(let text):
                self?.received(text)
            default:
                break
            }
        }
    }

    deinit {
        socket.disconnect(closeCode: CloseCode.goingAway.rawValue)
    }

    func join() {
        socket.connect()
    }

    func send(_ body: String) {
        guard let data = try? JSONEncoder().encode(ChatMessage(author: name, body: body)) else { return }
        socket.write(stringData: data, completion: nil)
    }

    private func received(_ text: String) {
        guard let message = try? JSONDecoder().decode(ChatMessage.self, from: Data(text.utf8)) else { return }
        messages.append(message)
        messagesChanged?(messages)
    }
}
