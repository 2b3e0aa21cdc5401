/// The error with which a byte stream ended or could not be opened.
///
/// The message is fit for a log: it never holds a query, a header's value or any other part of a request that may be
/// secret.
package struct ByteStreamError: Error, Sendable, Hashable {
    /// The code to decide by.
    package var code: Code
    /// A description for a log line.
    package var message: String
    /// The HTTP status of the answer, when there was one.
    package var status: Int?
    /// The value of `Retry-After`, when the server gave it in seconds.
    package var retryAfter: Duration?
    /// The step that opening was waiting for when its deadline passed; nil for every other end.
    package var stage: OpeningStage?

    /// Makes an error.
    package init(_ code: Code, _ message: String, status: Int? = nil, retryAfter: Duration? = nil) {
        self.code = code
        self.message = message
        self.status = status
        self.retryAfter = retryAfter
    }
}

extension ByteStreamError {
    /// A kind of ending.
    package enum Code: Sendable, Hashable {
        /// The request has a character or a value that must not be sent.
        case invalidRequest
        /// A part of the request, or all of it, is longer than is carried safely.
        case requestTooLong
        /// The host's name has no address.
        case nameNotResolved
        /// No address of the host took the connection: refused, or no way there.
        case unreachable
        /// The body of an answer is longer than was allowed.
        case answerTooLong
        /// The whole answer of a request that is no upgrade has come.
        case completed
        /// No address of the proxy accepted the connection, or its name has no address.
        case proxyUnreachable
        /// The proxy wants a name and a password, or other ones.
        case proxyUnauthorized
        /// The proxy refuses the connection; see ``ByteStreamError/status``.
        case proxyRefused
        /// A deadline passed.
        case timedOut
        /// The options for TLS cannot be used: certificates or keys that are missing or no PEM.
        case tlsUnusable
        /// TLS was not established, for this reason; see ``tlsFailure``.
        case tls(TLSFailure)
        /// The server answered with a redirect, which is never followed.
        case redirected
        /// The server answered with another status than 101; see ``ByteStreamError/status``.
        case refused
        /// The server agreed to the upgrade, and then refused it in HTTP; see ``ByteStreamError/status``.
        case refusedAfterUpgrade
        /// The server's answer breaks the rules of HTTP or of the upgrade.
        case handshakeMalformed
        /// The answer's head is too large, or there were too many interim answers: a limit of this client, not of HTTP.
        case answerHeadTooLong
        /// The server, or the network, ended the connection.
        case closedByPeer
        /// This side ended the stream.
        case closedByUs
        /// The address or port to listen at is not available.
        case unlistenable
        /// The event loop was shut down.
        case loopStopped
        /// The back end could not be set up, for want of memory or descriptors.
        case unavailable

        /// The reason TLS was not established; nil for other errors.
        package var tlsFailure: TLSFailure? { if case .tls(let failure) = self { failure } else { nil } }
    }
}

extension ByteStreamError {
    /// The error of an opening whose deadline passed in this stage.
    package init(timedOutIn stage: OpeningStage) {
        self.init(.timedOut, "timed out while \(stage)")
        self.stage = stage
    }
}

extension ByteStreamError: CustomStringConvertible {
    /// The message.
    package var description: String { self.message }
}
