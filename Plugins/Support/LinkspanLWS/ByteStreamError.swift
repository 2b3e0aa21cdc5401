/// Why a byte stream ended or could not be opened.
///
/// The message is fit for a log: it never holds a query, a header's value or any other part of a request that may be
/// secret.
public struct ByteStreamError: Error, Sendable, Hashable {
    /// What to decide by.
    public var code: Code
    /// What to read in a log line.
    public var message: String
    /// The HTTP status of the answer, when there was one.
    public var status: Int?
    /// How long the server asked to be left alone, when it said so in seconds.
    public var retryAfter: Duration?

    /// Makes an error.
    public init(_ code: Code, _ message: String, status: Int? = nil, retryAfter: Duration? = nil) {
        self.code = code
        self.message = message
        self.status = status
        self.retryAfter = retryAfter
    }
}

extension ByteStreamError {
    /// A kind of ending; more may be added.
    public struct Code: RawRepresentable, Sendable, Hashable {
        /// The name of the kind.
        public var rawValue: String

        /// Makes a kind from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The request has a character or a value that must not be sent.
        public static let invalidRequest = Self(rawValue: "invalidRequest")
        /// A part of the request, or all of it, is longer than is carried safely.
        public static let requestTooLong = Self(rawValue: "requestTooLong")
        /// The host's name has no address.
        public static let nameNotResolved = Self(rawValue: "nameNotResolved")
        /// No address of the host took the connection: refused, or no way there.
        public static let unreachable = Self(rawValue: "unreachable")
        /// The body of an answer is longer than was allowed.
        public static let answerTooLong = Self(rawValue: "answerTooLong")
        /// An exchange has its whole answer.
        static let completed = Self(rawValue: "completed")
        /// No address of the proxy took the connection, or its name has none.
        public static let proxyUnreachable = Self(rawValue: "proxyUnreachable")
        /// The proxy wants a name and a password, or other ones.
        public static let proxyUnauthorized = Self(rawValue: "proxyUnauthorized")
        /// The proxy does not let the connection through; see ``ByteStreamError/status``.
        public static let proxyRefused = Self(rawValue: "proxyRefused")
        /// A deadline passed.
        public static let timedOut = Self(rawValue: "timedOut")
        /// The server's certificate leads to an authority that is not trusted.
        public static let tlsUntrusted = Self(rawValue: "tlsUntrusted")
        /// The server sent nothing of its certificate's issuer, and nobody trusted is that issuer.
        public static let tlsIncompleteChain = Self(rawValue: "tlsIncompleteChain")
        /// The server's certificate is vouched for by itself alone.
        public static let tlsSelfSigned = Self(rawValue: "tlsSelfSigned")
        /// The server's certificate is for another host.
        public static let tlsHostMismatch = Self(rawValue: "tlsHostMismatch")
        /// The server's certificate has a wildcard that looks like the host but does not cover it.
        public static let tlsWildcardMisuse = Self(rawValue: "tlsWildcardMisuse")
        /// The server was reached by a numeric address that its certificate does not have.
        public static let tlsAddressMismatch = Self(rawValue: "tlsAddressMismatch")
        /// A certificate of the server's chain has expired.
        public static let tlsExpired = Self(rawValue: "tlsExpired")
        /// A certificate of the server's chain is not valid yet.
        public static let tlsNotYetValid = Self(rawValue: "tlsNotYetValid")
        /// A certificate of the server's chain has too short a key, or too weak a signature.
        public static let tlsWeakKey = Self(rawValue: "tlsWeakKey")
        /// The server's certificate is not meant for servers.
        public static let tlsWrongPurpose = Self(rawValue: "tlsWrongPurpose")
        /// No key of the server's chain is pinned.
        public static let tlsPinMismatch = Self(rawValue: "tlsPinMismatch")
        /// A key of the server's chain is among the revoked pins.
        public static let tlsRevokedKey = Self(rawValue: "tlsRevokedKey")
        /// The server speaks no version of TLS that is allowed.
        public static let tlsVersion = Self(rawValue: "tlsVersion")
        /// The connection ended in the middle of the TLS handshake.
        public static let tlsCut = Self(rawValue: "tlsCut")
        /// The server does not accept this side's certificate, or wants one.
        public static let tlsIdentityRefused = Self(rawValue: "tlsIdentityRefused")
        /// The options for TLS cannot be used: certificates or keys that are missing or no PEM.
        public static let tlsUnusable = Self(rawValue: "tlsUnusable")
        /// TLS could not be set up for another reason.
        public static let tlsFailed = Self(rawValue: "tlsFailed")
        /// The server answered with a redirect, which is never followed.
        public static let redirected = Self(rawValue: "redirected")
        /// The server answered with another status than 101; see ``ByteStreamError/status``.
        public static let refused = Self(rawValue: "refused")
        /// The server's answer breaks the rules of HTTP or of the upgrade.
        public static let handshakeMalformed = Self(rawValue: "handshakeMalformed")
        /// The server, or the network, ended the connection.
        public static let closedByPeer = Self(rawValue: "closedByPeer")
        /// This side ended the stream.
        public static let closedByUs = Self(rawValue: "closedByUs")
        /// The address or port to listen at is not to be had.
        public static let unlistenable = Self(rawValue: "unlistenable")
        /// The loop was shut down.
        public static let loopStopped = Self(rawValue: "loopStopped")
        /// The library could not be set up, for want of memory or descriptors.
        public static let unavailable = Self(rawValue: "unavailable")
    }
}

extension ByteStreamError: CustomStringConvertible {
    /// The code and the message in one line.
    public var description: String { "\(self.code.rawValue): \(self.message)" }
}
