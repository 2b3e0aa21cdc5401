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
    /// A kind of ending; more may be added.
    package struct Code: RawRepresentable, Sendable, Hashable {
        /// The name of the kind.
        package var rawValue: String

        /// Makes a kind from its name.
        package init(rawValue: String) { self.rawValue = rawValue }

        /// The request has a character or a value that must not be sent.
        package static let invalidRequest = Self(rawValue: "invalidRequest")
        /// A part of the request, or all of it, is longer than is carried safely.
        package static let requestTooLong = Self(rawValue: "requestTooLong")
        /// The host's name has no address.
        package static let nameNotResolved = Self(rawValue: "nameNotResolved")
        /// No address of the host took the connection: refused, or no way there.
        package static let unreachable = Self(rawValue: "unreachable")
        /// The body of an answer is longer than was allowed.
        package static let answerTooLong = Self(rawValue: "answerTooLong")
        /// The whole answer of a request that is no upgrade has come.
        package static let completed = Self(rawValue: "completed")
        /// No address of the proxy accepted the connection, or its name has no address.
        package static let proxyUnreachable = Self(rawValue: "proxyUnreachable")
        /// The proxy wants a name and a password, or other ones.
        package static let proxyUnauthorized = Self(rawValue: "proxyUnauthorized")
        /// The proxy refuses the connection; see ``ByteStreamError/status``.
        package static let proxyRefused = Self(rawValue: "proxyRefused")
        /// A deadline passed.
        package static let timedOut = Self(rawValue: "timedOut")
        /// The options for TLS cannot be used: certificates or keys that are missing or no PEM.
        package static let tlsUnusable = Self(rawValue: "tlsUnusable")
        /// TLS was not established, for this reason; see ``tlsFailure``.
        package static func tls(_ failure: TLSFailure) -> Self { Self(rawValue: Self.tlsPrefix + failure.rawValue) }
        /// The server answered with a redirect, which is never followed.
        package static let redirected = Self(rawValue: "redirected")
        /// The server answered with another status than 101; see ``ByteStreamError/status``.
        package static let refused = Self(rawValue: "refused")
        /// The server agreed to the upgrade, and then refused it in HTTP; see ``ByteStreamError/status``.
        package static let refusedAfterUpgrade = Self(rawValue: "refusedAfterUpgrade")
        /// The server's answer breaks the rules of HTTP or of the upgrade.
        package static let handshakeMalformed = Self(rawValue: "handshakeMalformed")
        /// The answer's head is too large, or there were too many interim answers: a limit of this client, not of HTTP.
        package static let answerHeadTooLong = Self(rawValue: "answerHeadTooLong")
        /// The server, or the network, ended the connection.
        package static let closedByPeer = Self(rawValue: "closedByPeer")
        /// This side ended the stream.
        package static let closedByUs = Self(rawValue: "closedByUs")
        /// The address or port to listen at is not available.
        package static let unlistenable = Self(rawValue: "unlistenable")
        /// The event loop was shut down.
        package static let loopStopped = Self(rawValue: "loopStopped")
        /// The back end could not be set up, for want of memory or descriptors.
        package static let unavailable = Self(rawValue: "unavailable")

        /// The reason TLS was not established; nil for other errors.
        package var tlsFailure: TLSFailure? {
            guard self.rawValue.hasPrefix(Self.tlsPrefix) else { return nil }
            return TLSFailure(rawValue: String(self.rawValue.dropFirst(Self.tlsPrefix.count)))
        }

        private static let tlsPrefix = "tls."
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
    /// The code and the message in one line.
    package var description: String { "\(self.code.rawValue): \(self.message)" }
}
