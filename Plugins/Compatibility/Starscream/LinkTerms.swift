internal import Foundation
internal import Linkspan
internal import LinkspanWebSocket

/// What a link is made of; equal terms need no other connection.
struct LinkTerms: Equatable {
    // Not the request itself: on Linux two are equal although their header fields differ.
    private let url: URL?
    private let timeLimit: TimeInterval
    /// The header fields of the request and the cookies of the process, without those of the handshake.
    private let fields: [String: String]
    private let subprotocols: [String]
    private let answersPings: Bool

    private static let reserved: Set = ["host", "connection", "upgrade", "content-length", "transfer-encoding"]

    init(_ request: URLRequest, answersPings: Bool) {
        var request = request
        if var parts = URLComponents(string: request.url?.absoluteString ?? ""), let user = parts.user {
            // As the scheme Basic (RFC 7617): a URL is quoted by errors.
            let login = Data("\(user):\(parts.password ?? "")".utf8).base64EncodedString()
            let field = request.value(forHTTPHeaderField: "Authorization") ?? "Basic \(login)"
            request.setValue(field, forHTTPHeaderField: "Authorization")
            (parts.user, parts.password) = (nil, nil)
            request.url = parts.url
        }
        (self.url, self.timeLimit, self.answersPings) = (request.url, request.timeoutInterval, answersPings)
        let cookies = request.url.flatMap { HTTPCookieStorage.shared.cookies(for: $0) } ?? []
        self.fields = (cookies.isEmpty ? [:] : HTTPCookie.requestHeaderFields(with: cookies))
            .merging(request.allHTTPHeaderFields ?? [:]) { $1 }
            .filter { !Self.reserved.contains($0.key.lowercased()) && !$0.key.lowercased().hasPrefix("sec-websocket-") }
        self.subprotocols = (request.value(forHTTPHeaderField: "Sec-WebSocket-Protocol") ?? "")
            .split { $0 == "," || $0.isWhitespace }.map(String.init)
            .reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    /// The configuration of a connection on these terms, as far as `change` leaves them.
    func configuration(
        _ security: (any CertificatePinning)?, _ compression: (any CompressionHandler)?,
        _ change: (inout WebSocketConfiguration) -> Void
    ) throws(LinkspanError) -> ConnectionConfiguration {
        let transport = WebSocketConfiguration {
            $0.protocol = FrameMessageProtocol(answersPings: self.answersPings)
            $0.subprotocols = self.subprotocols
            $0.responseHeaders = ["*"]
            // What was written before `disconnect` is with the transport by then, and leaves before the close.
            $0.highWaterMark = 16 << 20
            $0.tls = security?.policy ?? .system
            $0.compression = compression.map { handler in .init { $0.threshold = handler.threshold } }
            change(&$0)
        }
        let headers = self.fields.sorted { $0.key < $1.key }.map { Credentials.Field($0.key, Secret($0.value)) }
        return try ConnectionBuilder(self.url?.absoluteString ?? "")
            .transport(.webSocket(transport))
            .credentials(.fixed(Credentials(headers: headers)))
            .options {
                $0.retry = .never
                $0.openDeadline = .seconds(min(max(0.1, self.timeLimit), 86_400))
                ($0.buffer.commands, $0.buffer.bytes) = (1_000_000, 256 << 20)
            }
            .build()
    }

    /// Keeps the cookies of a response for the process, as Starscream does.
    func keepCookies(of fields: [String: String]) {
        guard let url = self.url else { return }
        HTTPCookie.cookies(withResponseHeaderFields: fields, for: url).forEach(HTTPCookieStorage.shared.setCookie)
    }
}

extension [Credentials.Field] {
    /// The fields as a dictionary, under names in their usual spelling such as `Sec-WebSocket-Protocol`.
    var byName: [String: String] {
        let fields = self.map { ($0.name.capitalized.replacing("Websocket", with: "WebSocket"), $0.value.exposed) }
        return Dictionary(fields) { "\($0), \($1)" }
    }
}
