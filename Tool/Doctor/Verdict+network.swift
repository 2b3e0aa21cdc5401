import Foundation
import Linkspan
import LinkspanNetwork
import LinkspanWebSocketProtocol

extension Verdict {
    /// The verdict about a stream that was not opened, other than by a status of HTTP.
    init(_ error: ByteStreamError, to place: String) {
        let (code, cause): (Code, String) =
            switch (error.code, error.stage) {
            case (.tls(let failure), _): Self.tls(failure, error.message, place)
            case (.nameNotResolved, _), (.timedOut, .resolving):
                (.nameNotResolved, "the name of \(place) has no address: \(error.message)")
            case (.timedOut, .connecting): (.unreachable, "\(place) does not answer TCP connections")
            case (.proxyUnauthorized, _):
                (.proxyFailed, "the proxy wants a name and a password, or others than those given")
            case (.timedOut, .proxy), (.proxyUnreachable, _), (.proxyRefused, _):
                (.proxyFailed, "the proxy does not connect to the server: \(error.message)")
            case (.timedOut, .tls): (.noAnswer, "\(place) takes TCP connections, and does not answer the TLS handshake")
            case (.timedOut, _): (.noAnswer, "\(place) takes connections, and does not answer HTTP requests in time")
            case (.unreachable, _): (.unreachable, "\(place): \(error.message)")
            case (.closedByPeer, _): (.hungUp, "\(place) takes the connection and closes it without a whole answer")
            case (.handshakeMalformed, _) where error.message.contains("breaks the rules of HTTP"):
                (.brokenAnswer, "\(place): \(error.message)")
            case (.handshakeMalformed, _) where error.message.contains(/it sent '(?:\\u\{0\}){2}.{1,6}\\u\{[47]\}/):
                (.http2Only, "\(place) speaks HTTP/2 alone")
            case (.handshakeMalformed, _), (.answerHeadTooLong, _):
                (.notHTTP, "\(place) does not answer in HTTP: \(error.message)")
            case (.answerTooLong, _): (.notSocketIO, "\(place) is no Socket.IO server: \(error.message)")
            case (.invalidRequest, _), (.requestTooLong, _), (.tlsUnusable, _):
                (.invalidFlags, "no request can be made: \(error.message)")
            default: (.refused, "\(place): \(error.message)")
            }
        self.init(code, cause)
    }

    private static func tls(_ failure: TLSFailure, _ message: String, _ place: String) -> (Code, String) {
        let name = "the certificate of \(place)"
        return switch failure {
        case .expired: (.certificateExpired, "\(name) has expired")
        case .notYetValid: (.certificateNotYetValid, "\(name) is not valid yet")
        case .wrongHost, .wrongAddress, .noSubjectAltName, .wildcardMisuse:
            (.certificateWrongName, "\(name) does not name this host (\(message))")
        case .selfSigned: (.certificateSelfSigned, "\(name) is self-signed")
        case .untrustedRoot: (.certificateUntrusted, "\(name) leads to an authority that is not trusted")
        case .incompleteChain:
            (.certificateIncomplete, "\(name) comes without its chain, or its authority is not trusted")
        case .pinMismatch: (.pinMismatch, "\(name) and those above it have none of the pinned keys")
        case .versionTooOld: (.tlsVersion, "\(place) speaks no TLS from version 1.2 on")
        case .clientCertificateRefused: (.clientCertificateWanted, "\(place) wants a certificate of the client")
        case .other where message.isAlert("unrecognized name"):
            (
                .serverNameUnknown,
                "\(place) has no certificate for this name: it refuses the name that TLS sends (SNI), or none"
            )
        case .other where message.isAlert("no application protocol"):
            (.http2Only, "\(place) takes no HTTP/1.1: it refuses that in the TLS handshake (ALPN)")
        case .other where message.isAlert("handshake failure"):
            (
                .tlsFailed,
                "\(place) refuses the TLS handshake: it has no cipher suite or kind of key in common with this client"
            )
        case .handshakeCut, .other: (.tlsFailed, "\(place): \(message)")
        default: (.certificateRejected, "\(name) is rejected: \(message.trimmingPrefix("certificate rejected: "))")
        }
    }

    /// The verdict about an answer of HTTP with a status that does not serve.
    init(status: Int, of request: String, _ answer: HTTPAnswer?) {
        let words = answer?.words ?? ""
        let sentence = "\(request) was answered with \(status)" + (words.isEmpty ? "" : " (\(words))")
        // Its query is often that of the request, which may hold a secret.
        let location = answer?.head["location"].map { " to \(ForeignText.line(String($0.prefix { $0 != "?" })))" } ?? ""
        let pause = answer?.head["retry-after"].map { "; Retry-After is \(ForeignText.line($0))" } ?? ""
        let wish = answer?.head["www-authenticate"].map { ", and asks for \(ForeignText.line($0, limit: 60))" } ?? ""
        let (isAboutOrigin, isAboutHost) = (
            words.lowercased().contains("origin"), words.firstMatch(of: /(?i)\bhost\b/) != nil
        )
        let (code, note): (Code, String) =
            switch status {
            case 400 where answer?.text.contains("SSL certificate was sent") == true:
                (.clientCertificateWanted, ": it wants a certificate of the client")
            case 400 where answer?.text.firstMatch(of: /(?i)http (request|to) .{0,30}(https|ssl|tls)/) != nil:
                (.badGateway, ": a proxy speaks plain HTTP to the server behind it, which wants TLS")
            case 400 where answer?.text.contains("PROXY TCP") == true:
                (.proxyProtocol, ": a balancer sends the PROXY protocol, which the server does not know")
            case 400 where words.firstMatch(of: /(?i)header.*too large/) != nil, 414, 431:
                (.headerTooLarge, ": the request line or a header, such as a cookie or a token, is too long")
            case 400 where isAboutOrigin, 403 where isAboutOrigin: (.originRefused, "")
            case 400 where isAboutHost, 421: (.hostRefused, ": the server does not accept the Host header")
            case 300...399: (.redirected, ", a redirect\(location)")
            case 401: (.unauthorized, wish)
            case 403, 451: (.forbidden, "")
            case 406: (.forbidden, ": a firewall for web applications answers so")
            case 404, 410: (.notFound, "")
            case 405: (.notFound, ": the method is not allowed at this path")
            case 407: (.proxyFailed, ": a proxy in front of the server wants a name and a password")
            case 413: (.messageLimit, ": a proxy or the server takes no body as large")
            case 429: (.rateLimited, ": too many requests\(pause)")
            case 502, 521, 523, 530: (.badGateway, ": a proxy does not reach the server behind it")
            case 520: (.badGateway, ": a proxy got no valid answer from the server behind it")
            case 525, 526: (.badGateway, ": TLS between a proxy and the server behind it fails")
            case 503: (.unavailable, pause)
            case 504, 522, 524: (.gatewayTimeout, ": a proxy did not get an answer from the server behind it in time")
            case 511: (.captivePortal, ": the network of this machine wants a login first")
            case 500...599: (.serverError, "")
            default: (.refused, "")
            }
        self.init(code, sentence + note)
    }

    /// The verdict about a request that was refused for lack of capacity after others were served; nil for other
    /// statuses.
    init?(limit status: Int, of request: String, _ answer: HTTPAnswer?) {
        guard status == 429 || status == 503 else { return nil }
        self.init(status: status, of: request, answer)
        self = Self(
            .rateLimited,
            "\(self.cause), after others were served: a limit of requests or connections, or one server of several is down"
        )
    }

    /// The verdict about a WebSocket that ended after it was opened.
    ///
    /// - Parameters:
    ///   - end: how it ended.
    ///   - time: what had happened, as in `before the first message`.
    init(_ end: WebSocketEnd, _ time: String) {
        if case .closed(let event) = end, let violation = event.violation {
            self.init(.brokenFrames, "the server broke a rule of WebSockets \(time): \(violation.message)")
        } else if case .closed(let event) = end, event.code != .noStatus,
            event.code != .normal || !event.reason.isEmpty
        {
            let reason = event.reason.isEmpty ? "" : " \"\(ForeignText.line(event.reason))\""
            let (code, meaning): (Code, String) =
                switch event.code.rawValue {
                case 1001: (.unavailable, ": it is going away")
                case 1009: (.messageLimit, ": a message is too large for it")
                case 1011: (.serverError, ": an error in the server")
                case 1012: (.unavailable, ": it restarts")
                case 1013: (.unavailable, ": it is overloaded, and wants clients to come later")
                case 1014: (.badGateway, ": a proxy got no valid answer from the server behind it")
                default: (.closedByServer, "")
                }
            let words = "with code \(event.code.rawValue)\(reason)\(meaning)"
            self.init(code, "the server closed the WebSocket \(time) \(words)")
        } else {
            self.init(.closedAfterUpgrade, "the WebSocket was opened and ended \(time)")
        }
    }
}

extension String {
    /// Whether this has the words of an alert of TLS, as OpenSSL writes them or BoringSSL.
    func isAlert(_ words: String) -> Bool {
        self.lowercased().replacing("_", with: " ").contains(words)
    }
}

extension HTTPAnswer {
    /// The beginning of the body in one line, or the title of a page; empty when there is none.
    var words: String {
        var text = self.beginning[...]
        if self.isPage { text = text.firstMatch(of: /(?i)<title>([^<]*)/)?.1 ?? "" }
        // Many pages begin with the status again.
        let plain = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        let rest = plain.trimmingPrefix("\(self.head.status)")
        return ForeignText.line(rest.trimmingCharacters(in: .init(charactersIn: ": ")), limit: 120)
    }

    /// Whether the body begins like HTML.
    var isPage: Bool { self.beginning.drop { $0.isWhitespace }.hasPrefix("<") }

    private var beginning: String { String(decoding: self.body.prefix(400), as: UTF8.self) }

    /// The body as text, for looking into.
    var text: String { String(decoding: self.body, as: UTF8.self) }
}
