public import Linkspan
internal import LinkspanWebSocketProtocol

extension LinkspanError {
    /// Makes the error for the end of a channel.
    package init(_ end: WebSocketEnd) {
        switch end {
        case .stream(let error):
            self.init(error)
        case .handshake(let error):
            self.init(.protocolViolation, "the server's WebSocket handshake is wrong", cause: error)
        case .closed(let event):
            self.init(event)
        case .silent:
            self.init(.heartbeatMissed, "the server did not answer a ping in time")
        case .aborted:
            self.init(.connectionLost, "closed by this side")
        }
    }

    /// Says in the SDK's terms how a stream ended.
    private init(_ error: ByteStreamError) {
        let codes: [ByteStreamError.Code: Code] = [
            .invalidRequest: .invalidConfiguration, .requestTooLong: .invalidConfiguration,
            .nameNotResolved: .nameNotResolved, .unreachable: .connectionLost, .timedOut: .timedOut,
            .tlsUnusable: .invalidConfiguration, .redirected: .redirected, .handshakeMalformed: .protocolViolation,
            .answerHeadTooLong: .protocolViolation,
        ]
        if let failure = error.code.tlsFailure {
            // What the network cut off may well come about the next time; a certificate does not change so soon.
            let code = failure == .handshakeCut ? Code.connectionLost : .tlsFailed
            self.init(code, error.message, cause: failure == .other ? error : failure)
            return
        }
        if error.code == .proxyRefused || error.code == .proxyUnauthorized {
            // 5xx is what a proxy says of a server that it does not reach.
            let isFinal = error.status.map { (400...499).contains($0) && $0 != 408 && $0 != 429 } ?? false
            self.init(
                isFinal ? .proxyRefused : .connectionLost, error.message, cause: error, retryAfter: error.retryAfter)
            return
        }
        let isRefusal = error.code == .refused || error.code == .refusedAfterUpgrade
        let code = isRefusal ? Self.code(ofStatus: error.status) : codes[error.code] ?? .connectionLost
        self.init(code, error.message, cause: error, retryAfter: error.retryAfter)
    }

    /// The meaning of an HTTP status in place of 101 for the next attempt (RFC 9110 §15).
    private static func code(ofStatus status: Int?) -> Code {
        switch status {
        case 401, 407: .credentialsRefused
        case 400, 403, 404, 405, 410: .refused
        case 426: .unsupportedVersion
        default: .serverUnavailable
        }
    }

    /// The meaning of a Close frame for the next attempt (RFC 6455 §7.4, and the usual private codes).
    private init(_ event: CloseEvent) {
        if let violation = event.violation {
            let message = violation.isLimit ? violation.message : "the server broke the WebSocket protocol"
            self.init(.protocolViolation, message, cause: violation)
            return
        }
        let code: Code =
            switch event.code.rawValue {
            case 1003, 1007, 1009: .messageRefused
            case 1010: .protocolViolation
            case 1008, 4403: .refused
            case 1012, 1013, 1014: .serverUnavailable
            case 4401: .credentialsRefused
            default: .connectionLost
            }
        let (close, text) = (WebSocketClose(event), event.reason.isEmpty ? "" : ": \(ForeignText.line(event.reason))")
        self.init(code, "the server closed the connection with \(close)\(text)", cause: close)
    }
}

extension LinkspanError {
    /// The reason TLS was not established; nil for other errors.
    public var tlsFailure: TLSFailure? {
        self.cause as? TLSFailure ?? (self.cause as? ByteStreamError)?.code.tlsFailure
    }
}

extension LinkspanError {
    /// The HTTP status with which the server, or a proxy, refused the connection; nil for other errors.
    public var httpStatus: Int? { (self.cause as? ByteStreamError)?.status }
}
