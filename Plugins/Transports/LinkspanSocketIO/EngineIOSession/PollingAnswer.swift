internal import Linkspan
internal import LinkspanNetwork

/// The meaning of the answer to a poll or a post.
enum PollingAnswer {
    /// The body of a good answer.
    ///
    /// - Parameters:
    ///   - result: how the exchange ended.
    ///   - isFirst: whether it was the handshake; later, what is refused is only this session.
    /// - Returns: the body.
    /// - Throws: ``LinkspanError`` for anything but status 200.
    static func body(
        of result: PollingRequests.Result, isFirst: Bool
    ) throws(LinkspanError) -> [UInt8] {
        switch result {
        case .success(let answer) where answer.head.status == 200:
            return answer.body
        case .success(let answer):
            throw Self.error(answer, isFirst: isFirst)
        case .failure(let error) where error.code == .answerTooLong:
            throw LinkspanError(.protocolViolation, error.message, cause: error)
        case .failure(let error):
            throw LinkspanError(WebSocketEnd.stream(error))
        }
    }

    /// Engine.IO servers explain a refusal in JSON: `{"code":1,"message":"Session ID unknown"}`.
    private static func error(_ answer: HTTPAnswer, isFirst: Bool) -> LinkspanError {
        let status = answer.head.status
        let refusal = answer.head.refusal
        if !isFirst, let loss = Self.loss(status) {
            return LinkspanError(.connectionLost, loss, cause: refusal, retryAfter: refusal.retryAfter)
        }
        if (300...399).contains(status) {
            return LinkspanError(.redirected, "the server redirects (status \(status)), which is not followed")
        }
        let code = (try? Payload(checking: answer.body.prefix(4096)))?[0]?["code"]?.double
        switch (status, code) {
        case (400, _) where isFirst && (code == 5 || code == nil && Self.isAboutVersion(answer.body)):
            return LinkspanError(
                .unsupportedVersion, "the server does not speak this version of Engine.IO: \(Self.advice)",
                cause: refusal)
        case (400, 0) where isFirst:
            return LinkspanError(.refused, "the server does not offer long polling", cause: refusal)
        case (413, _):
            return LinkspanError(.messageRefused, "the server rejects a message for its size", cause: refusal)
        default:
            return LinkspanError(WebSocketEnd.stream(refusal))
        }
    }

    /// The error of a session that ended during a POST that may have been too large.
    ///
    /// The loss may have another cause, so the message is sent once more; a second loss of the same kind sets it aside.
    static func suspecting(_ error: LinkspanError) -> LinkspanError {
        guard [.connectionLost, .closedByServer].contains(error.code) else { return error }
        return LinkspanError(
            .messageRefused, "the session ended during a large POST to a server that announces no limit",
            cause: error, retryAfter: error.retryAfter)
    }

    /// The reason for which a session is lost with this status; nil when the status means the same as in a handshake.
    ///
    /// Servers decide about a client in the handshake alone. Later, 403 or a redirect comes from something before them,
    /// such as a rate limiter or a login page; whether clients are still accepted shows in the next handshake, where the
    /// same status is final.
    private static func loss(_ status: Int) -> String? {
        switch status {
        // Unknown session, or two requests at once: gone is this session, not the server.
        case 400: "the server no longer knows the session"
        // Another server may have taken its place.
        case 404: "the server no longer has the session's path"
        case 300...399, 403, 405, 410, 426: "a request of the open session was answered with status \(status)"
        default: nil
        }
    }

    /// The advice about a server of another version.
    static let advice = "for servers of Socket.IO 2.x choose protocol v2, for newer ones v4"

    /// python-engineio says it in words only.
    private static func isAboutVersion(_ body: [UInt8]) -> Bool {
        String(decoding: body.prefix(256), as: UTF8.self).lowercased().contains("unsupported version")
    }
}
