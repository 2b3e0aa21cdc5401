internal import Foundation
internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanWebSocket
internal import Logging
#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// What a link is made of; equal terms need no other connection.
struct LinkTerms: Equatable {
    let request: URLRequest
    let answersPings: Bool
    /// The cookies of the process for the URL, as the value of `Cookie`.
    private let cookies: [String: String]

    /// The fields that belong to the handshake, besides those of the WebSocket.
    private static let reserved: Set = [
        "host", "origin", "connection", "upgrade", "content-length", "transfer-encoding",
    ]
    private static let subprotocols = "sec-websocket-protocol"

    init(_ request: URLRequest, answersPings: Bool) {
        (self.request, self.answersPings) = (request, answersPings)
        let cookies = request.url.flatMap { HTTPCookieStorage.shared.cookies(for: $0) } ?? []
        self.cookies = cookies.isEmpty ? [:] : HTTPCookie.requestHeaderFields(with: cookies)
    }

    /// The fields that the request gives to the server, and those that it cannot.
    private var fields: (sent: [Credentials.Field], reserved: [String]) {
        let all = (self.request.allHTTPHeaderFields ?? [:]).merging(self.cookies) { own, _ in own }
            .filter { $0.key.lowercased() != Self.subprotocols }.sorted { $0.key < $1.key }
        func isReserved(_ name: String) -> Bool {
            Self.reserved.contains(name.lowercased()) || name.lowercased().hasPrefix("sec-websocket-")
        }
        return (
            all.filter { !isReserved($0.key) }.map { Credentials.Field($0.key, Secret($0.value)) },
            all.map(\.key).filter(isReserved)
        )
    }

    /// The transport of a link on these terms.
    func transport(
        _ security: (any CertificatePinning)?, _ compression: (any CompressionHandler)?
    ) -> WebSocketTransport {
        let offered = self.request.value(forHTTPHeaderField: Self.subprotocols) ?? ""
        return WebSocketTransport(
            WebSocketConfiguration {
                $0.codec = .frames
                $0.subprotocols = offered.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
                $0.responseHeaders = ["*"]
                $0.answersPings = self.answersPings
                $0.tls = security?.policy ?? .system
                $0.compression = compression.map { handler in .init { $0.threshold = handler.threshold } }
                WebSocket.configure(&$0)
            })
    }

    /// The connection on these terms.
    func configuration(over transport: WebSocketTransport) throws(LinkspanError) -> ConnectionConfiguration {
        let fields = self.fields
        if !fields.reserved.isEmpty {
            Logger.starscream.notice(
                "Header fields that the handshake sets itself are left out",
                metadata: ["names": "\(fields.reserved.joined(separator: ", "))"])
        }
        return try ConnectionBuilder(self.request.url?.absoluteString ?? "")
            .transport(transport)
            .credentials(.fixed(Credentials(headers: fields.sent)))
            .options {
                $0.retry = .never
                $0.openDeadline = .seconds(min(max(0.1, self.request.timeoutInterval), 86_400))
                ($0.buffer.commands, $0.buffer.bytes) = (1_000_000, 256 << 20)
            }
            .build()
    }

    /// Keeps the cookies of a response for the process, as Starscream does.
    func keepCookies(of fields: [String: String]) {
        guard let url = self.request.url else { return }
        HTTPCookie.cookies(withResponseHeaderFields: fields, for: url).forEach(HTTPCookieStorage.shared.setCookie)
    }
}

extension [Credentials.Field] {
    /// The fields as a dictionary, under names in their usual spelling such as `Sec-WebSocket-Protocol`.
    var byName: [String: String] {
        let named = self.map { field in
            let words = field.name.split(separator: "-").map { $0 == "websocket" ? "WebSocket" : $0.capitalized }
            return (words.joined(separator: "-"), field.value.exposed)
        }
        return Dictionary(named) { "\($0), \($1)" }
    }
}
