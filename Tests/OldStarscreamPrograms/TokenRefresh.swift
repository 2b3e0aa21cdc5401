import Foundation
import Starscream

// A session whose token is refused: it fetches another, puts it into the request's header, and connects again.
class TokenSession {
    var tokens: [String]
    var onEvent: ((WebSocketEvent) -> Void)?
    private(set) var socket: WebSocket

    init(url: URL, tokens: [String]) {
        self.tokens = tokens
        socket = WebSocket(request: URLRequest(url: url))
        socket.onEvent = { [weak self] event in
            guard let self = self else { return }
            if case .error(let error) = event, let refusal = error as? HTTPUpgradeError,
                case .notAnUpgrade(401, _) = refusal, !self.tokens.isEmpty
            {
                self.start()
            }
            self.onEvent?(event)
        }
    }

    func start() {
        socket.request.setValue("Bearer \(tokens.removeFirst())", forHTTPHeaderField: "Authorization")
        socket.connect()
    }
}
