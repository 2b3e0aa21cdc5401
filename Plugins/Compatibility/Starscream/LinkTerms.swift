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
    // Not the request itself: on Linux two are equal although their header fields differ.
    private let url: URL?
    private let timeLimit: TimeInterval
    /// The header fields of the request and the cookies of the process, without the sub-protocols.
    private let fields: [String: String]
    private let subprotocols: [String]
    private let answersPings: Bool

    /// The fields that belong to the handshake, besides those of the WebSocket.
    private static let reserved: Set = [
        "host", "origin", "connection", "upgrade", "content-length", "transfer-encoding",
    ]
    private static let subprotocols = "sec-websocket-protocol"

    init(_ request: URLRequest, answersPings: Bool) {
        (self.url, self.timeLimit, self.answersPings) = (request.url, request.timeoutInterval, answersPings)
        let cookies = request.url.flatMap { HTTPCookieStorage.shared.cookies(for: $0) } ?? []
        self.fields = (cookies.isEmpty ? [:] : HTTPCookie.requestHeaderFields(with: cookies))
            .merging(request.allHTTPHeaderFields ?? [:]) { $1 }
            .filter { $0.key.lowercased() != Self.subprotocols }
        self.subprotocols = (request.value(forHTTPHeaderField: Self.subprotocols) ?? "")
            .split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
    }

    private static func isReserved(_ name: String) -> Bool {
        Self.reserved.contains(name.lowercased()) || name.lowercased().hasPrefix("sec-websocket-")
    }

    /// The transport of a link on these terms.
    func transport(
        _ security: (any CertificatePinning)?, _ compression: (any CompressionHandler)?,
        _ change: (inout WebSocketConfiguration) -> Void
    ) -> WebSocketTransport {
        WebSocketTransport(
            WebSocketConfiguration {
                $0.codec = FrameEnvelopeCodec(answersPings: self.answersPings)
                $0.subprotocols = self.subprotocols
                $0.responseHeaders = ["*"]
                $0.tls = security?.policy ?? .system
                $0.compression = compression.map { handler in .init { $0.threshold = handler.threshold } }
                change(&$0)
            })
    }

    /// The connection on these terms.
    func configuration(over transport: WebSocketTransport) throws(LinkspanError) -> ConnectionConfiguration {
        let names = self.fields.keys.sorted()
        let reserved = names.filter(Self.isReserved)
        if !reserved.isEmpty {
            Logger.starscream.notice(
                "Header fields that the handshake sets itself are left out",
                metadata: ["names": "\(reserved.joined(separator: ", "))"])
        }
        let headers = names.filter { !Self.isReserved($0) }.map {
            Credentials.Field($0, Secret(self.fields[$0] ?? ""))
        }
        return try ConnectionBuilder(self.url?.absoluteString ?? "")
            .transport(transport)
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
        let named = self.map { field in
            let words = field.name.split(separator: "-").map { $0 == "websocket" ? "WebSocket" : $0.capitalized }
            return (words.joined(separator: "-"), field.value.exposed)
        }
        return Dictionary(named) { "\($0), \($1)" }
    }
}
