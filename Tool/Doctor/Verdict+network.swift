import Foundation
import Linkspan
import LinkspanNetwork
import LinkspanWebSocketProtocol

extension Verdict {
    /// The verdict about a stream that was not opened, other than by a status of HTTP.
    init(_ error: ByteStreamError, to place: String) {
        switch error.code {
        case .tls(let failure): self.init(failure, error.message, place)
        case .timedOut:
            switch error.stage {
            case .resolving: self = .unresolved(place, error.message)
            case .connecting: self = .silentAddress(place)
            case .proxy: self = .proxy(error.message)
            case .tls:
                self.init(
                    .noAnswer, "\(place) takes TCP connections, and does not answer the TLS handshake",
                    "check that the port is the one of TLS and that the server or its balancer is not stuck")
            default:
                self.init(
                    .noAnswer, "\(place) takes connections, and does not answer HTTP requests in time",
                    "check that the server is not blocked and that the proxy in front of it reaches it")
            }
        case .nameNotResolved: self = .unresolved(place, error.message)
        case .unreachable: self.init(.unreachable, "\(place): \(error.message)", "check host, port and firewall")
        case .proxyUnreachable, .proxyUnauthorized, .proxyRefused: self = .proxy(error.message)
        case .closedByPeer:
            self.init(
                .hungUp, "\(place) takes the connection and closes it without an answer",
                "check the log of the server or balancer at this port, and whether it speaks \(Self.protocols)")
        case .handshakeMalformed, .answerHeadTooLong:
            self.init(
                .notHTTP, "\(place) does not answer in HTTP: \(error.message)",
                "check the port: a server of another protocol listens there")
        default: self.init(.refused, "\(place): \(error.message)", "check the server's log")
        }
    }

    private static let protocols = "HTTP, not another protocol"

    /// The verdict about TLS that was not established.
    init(_ failure: TLSFailure, _ message: String, _ place: String) {
        let (code, cause, remedy): (Code, String, String) =
            switch failure {
            case .expired: (.certificateExpired, "has expired", "renew it, and reload the server")
            case .notYetValid:
                (.certificateNotYetValid, "is not valid yet", "check the clocks of this machine and of the issuer")
            case .wrongHost, .wrongAddress, .noSubjectAltName, .wildcardMisuse:
                (
                    .certificateWrongName, "does not name this host (\(message))",
                    "connect by a name in its subjectAltName, or issue one that has this host there"
                )
            case .selfSigned:
                (.certificateSelfSigned, "is self-signed", "use one of a trusted authority, or pass it with --ca")
            case .untrustedRoot:
                (
                    .certificateUntrusted, "leads to an authority that is not trusted",
                    "use one of a public authority, or pass the authority with --ca"
                )
            case .incompleteChain:
                (
                    .certificateIncomplete, "comes without its chain, or its authority is not trusted",
                    "configure the server with the full chain (fullchain.pem), or pass the authority with --ca"
                )
            case .pinMismatch:
                (.pinMismatch, "has none of the pinned keys", "add the new key's pin before the server changes its key")
            default: (.certificateRejected, "is rejected: \(message)", "issue one for servers, with a strong key")
            }
        switch failure {
        case .versionTooOld:
            self.init(.tlsVersion, "\(place) speaks no TLS from version 1.2 on", "switch TLS 1.2 or 1.3 on")
        case .clientCertificateRefused:
            self.init(
                .clientCertificateWanted, "\(place) wants a certificate of the client",
                "switch that off in the server, or give clients a certificate (tls.clientCertificate)")
        case .handshakeCut, .other:
            self.init(.tlsFailed, "TLS to \(place) failed: \(message)", "check the TLS settings and log of the server")
        default: self.init(code, "the certificate of \(place) \(cause)", remedy)
        }
    }

    /// The verdict about an answer of HTTP with a status that does not serve.
    init(status: Int, of request: String, location: String?, words: String) {
        let answer = "\(request) was answered with \(status)" + (words.isEmpty ? "" : " (\(words))")
        switch status {
        case 300...399:
            self.init(
                .redirected, "\(answer), a redirect\(location.map { " to \(ForeignText.line($0))" } ?? "")",
                "use the address that it leads to: redirects of WebSockets are not followed")
        case 401:
            self.init(.unauthorized, answer, "pass the credentials, as in --header 'Authorization: Bearer …'")
        case 403:
            self.init(
                .forbidden, answer, "check credentials (--header), allowed origins (--origin) and the firewall's rules")
        case 404:
            self.init(
                .notFound, answer, "check the path (--path for Socket.IO), and the proxy's rule for it")
        case 502:
            self.init(
                .badGateway, "\(answer): a proxy does not reach the server behind it",
                "start the server, and check the proxy's upstream address")
        case 503: self.init(.unavailable, answer, "check that the server runs and the balancer's health checks pass")
        case 504:
            self.init(
                .gatewayTimeout, "\(answer): a proxy did not get an answer from the server behind it in time",
                "check that the server is not blocked, and raise the proxy's read timeout")
        case 500...599: self.init(.serverError, answer, "look into the server's log")
        default: self.init(.refused, answer, "look into the server's log for the reason")
        }
    }

    /// The verdict about a WebSocket that ended after it was opened.
    ///
    /// - Parameters:
    ///   - end: how it ended.
    ///   - time: what had happened, as in `before the first message`.
    init(_ end: WebSocketEnd, _ time: String) {
        if case .closed(let event) = end, event.violation == nil, event.code != .noStatus, event.code != .normal {
            let reason = event.reason.isEmpty ? "" : " \"\(ForeignText.line(event.reason))\""
            self.init(
                .closedByServer, "the server closed the WebSocket \(time) with code \(event.code.rawValue)\(reason)",
                "look up the code in the server's documentation: it may expect credentials or a message first")
        } else {
            self.init(
                .closedAfterUpgrade, "the WebSocket was opened and ended \(time)",
                "look into the log of the server, and of a proxy that took the upgrade in its place")
        }
    }

    static func unresolved(_ place: String, _ message: String) -> Self {
        Self(
            .nameNotResolved, "the name of \(place) has no address: \(message)", "check its spelling and its DNS record"
        )
    }

    static func silentAddress(_ place: String) -> Self {
        Self(
            .unreachable, "\(place) does not answer TCP connections",
            "check that the machine is up, and that no firewall or security group drops the port")
    }

    static func proxy(_ message: String) -> Self {
        Self(
            .proxyFailed, "the proxy does not connect to the server: \(message)", "check --proxy, and the proxy's rules"
        )
    }
}

extension HTTPAnswer {
    /// The beginning of the body in one line, unless it is a page; empty when there is none.
    var words: String {
        let text = String(decoding: self.body.prefix(400), as: UTF8.self)
        let isPage = text.drop { $0.isWhitespace }.hasPrefix("<")
        return isPage ? "" : ForeignText.line(text.trimmingCharacters(in: .whitespacesAndNewlines), limit: 120)
    }

    /// The body as text, for looking into.
    var text: String { String(decoding: self.body, as: UTF8.self) }
}
