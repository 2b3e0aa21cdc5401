internal import LinkspanRuntime

/// An error of a connection, a transport or the facade, with a code, a message and a cause.
///
/// Connections, transports and `LinkspanMessaging` throw no other type. The modules that can be used without
/// connections have types of their own: `RegistryError` of `LinkspanLifecycle` and `ConfigurationError` of
/// `LinkspanConfiguration`. Messages and codes never hold credentials, query strings or payloads.
public struct LinkspanError: Error, Sendable {
    // Results, states and snapshots of every connection have room for an error, and nearly all of them hold none.
    private var parts: Boxed<Parts>

    /// Makes an error.
    public init(
        _ code: Code, _ message: String, cause: (any Error)? = nil, certainty: Certainty? = nil,
        retryAfter: Duration? = nil, details: Payload? = nil
    ) {
        self.parts = Boxed(
            Parts(
                code: code, message: message, cause: cause, certainty: certainty, retryAfter: retryAfter,
                details: details))
    }

    /// The kind of failure.
    public var code: Code {
        get { self.parts.value.code }
        set { self.parts.value.code = newValue }
    }
    /// One sentence for a person or a log line.
    public var message: String {
        get { self.parts.value.message }
        set { self.parts.value.message = newValue }
    }
    /// The error underneath, when there is one.
    public var cause: (any Error)? { self.parts.value.cause }
    /// Whether a failed command may have reached the server.
    ///
    /// Nil when the error is not about a command.
    public var certainty: Certainty? {
        get { self.parts.value.certainty }
        set { self.parts.value.certainty = newValue }
    }
    /// The earliest moment for another attempt that the server asked for, counted from the failure.
    public var retryAfter: Duration? { self.parts.value.retryAfter }
    /// The payload that the server sent with a refusal.
    public var details: Payload? { self.parts.value.details }

    private struct Parts: Sendable {
        var code: Code
        var message: String
        var cause: (any Error)?
        var certainty: Certainty?
        var retryAfter: Duration?
        var details: Payload?
    }

    /// The certainty about whether a failed command reached the server.
    public enum Certainty: Sendable, Hashable {
        /// No byte of it was given to the transport: repeating it is safe.
        case notSent
        /// Given to the transport: the server may have acted on it.
        case unknown
    }

    /// The kind of a ``LinkspanError``.
    ///
    /// A struct, so that new kinds are not a breaking change.
    public struct Code: RawRepresentable, Sendable, Hashable {
        /// The name of the kind, as it appears in logs.
        public var rawValue: String

        /// Makes a code; transports of third parties may have their own.
        public init(rawValue: String) { self.rawValue = rawValue }
    }
}

extension LinkspanError.Code {
    // MARK: The caller's mistakes

    /// The URL cannot be understood, or names a scheme that the transport does not carry.
    public static let invalidURL = Self(rawValue: "invalidURL")
    /// An option has a value that cannot work.
    public static let invalidConfiguration = Self(rawValue: "invalidConfiguration")
    /// A pooled connection for the same URL and credential source exists with other options.
    public static let conflictingOptions = Self(rawValue: "conflictingOptions")
    /// The operation is not allowed in the connection's present state.
    public static let wrongState = Self(rawValue: "wrongState")
    /// A value could not be turned into a payload.
    public static let encodingFailed = Self(rawValue: "encodingFailed")
    /// A payload could not be read as the wanted type.
    public static let decodingFailed = Self(rawValue: "decodingFailed")
    /// The transport or service does not offer the operation.
    public static let unsupported = Self(rawValue: "unsupported")

    // MARK: Fates of commands

    /// There is no room: the overflow rule of the offline buffer refuses this command or dropped it, or a stream ended
    /// rather than drop a message.
    public static let bufferFull = Self(rawValue: "bufferFull")
    /// The command's time ran out: no answer came, or it waited in the buffer for too long.
    public static let timedOut = Self(rawValue: "timedOut")
    /// The caller cancelled it.
    public static let cancelled = Self(rawValue: "cancelled")
    /// The connection was lost before the answer came.
    public static let disconnected = Self(rawValue: "disconnected")
    /// The connection was released.
    public static let released = Self(rawValue: "released")
    /// The credential source of the connection was logged out; see
    /// ``ConnectionManager/logOut(_:keepingDeliveries:within:)``.
    public static let loggedOut = Self(rawValue: "loggedOut")
    /// A delivery could not be stored and was refused, or no delivery has the requested key.
    public static let notKept = Self(rawValue: "notKept")
    /// An ``Interceptor`` dropped the message; the error's message has its reason.
    public static let dropped = Self(rawValue: "dropped")
    /// The message is larger than the limit.
    public static let messageTooLarge = Self(rawValue: "messageTooLarge")

    // MARK: Ends of links

    /// The network failed: connection refused, host unreachable, reset, or closed without a message.
    public static let connectionLost = Self(rawValue: "connectionLost")
    /// The app's ``Greeting`` over a new link failed.
    public static let greetingFailed = Self(rawValue: "greetingFailed")
    /// The network path was reported lost, so the link was dropped without waiting for its end.
    public static let pathLost = Self(rawValue: "pathLost")
    /// The app has been in the background for a while, so the link was closed until it comes back.
    public static let suspended = Self(rawValue: "suspended")
    /// The connection moved, so the link was closed; see ``ConnectionManager/move(_:to:)``.
    ///
    /// Of a command: the connection moved to another identity.
    public static let moved = Self(rawValue: "moved")
    /// The host name has no address.
    public static let nameNotResolved = Self(rawValue: "nameNotResolved")
    /// The peer was silent for longer than the heartbeat allows.
    public static let heartbeatMissed = Self(rawValue: "heartbeatMissed")
    /// A full sequence had paused reading, and the link ended before it was read.
    ///
    /// Only with ``StreamOverflow/pause``.
    public static let slowConsumer = Self(rawValue: "slowConsumer")
    /// The peer violated the protocol or exceeded a limit; the message tells which.
    public static let protocolViolation = Self(rawValue: "protocolViolation")
    /// The peer ended the link because of a message: it is too large for the peer, or of a kind that it does not take.
    ///
    /// Of a delivery: it ended its link in this way a second time, or ``DeliveryOptions/replies`` reads a refusal in
    /// its reply. It is not sent again.
    public static let messageRefused = Self(rawValue: "messageRefused")
    /// The server has asked for a delivery to come later 20 times; see ``ReplyPolicy/Verdict/later``.
    public static let setAside = Self(rawValue: "setAside")
    /// The server is there but cannot serve now: 5xx, 429, restarting.
    public static let serverUnavailable = Self(rawValue: "serverUnavailable")
    /// The server closed the connection on purpose and does not want it back.
    public static let closedByServer = Self(rawValue: "closedByServer")
    /// The server does not accept the credentials.
    public static let credentialsRefused = Self(rawValue: "credentialsRefused")
    /// The credential provider failed or did not answer in time.
    public static let credentialsUnavailable = Self(rawValue: "credentialsUnavailable")
    /// The server refuses for another reason, such as an unknown path or namespace.
    public static let refused = Self(rawValue: "refused")
    /// The TLS handshake failed or the certificate is not trusted.
    public static let tlsFailed = Self(rawValue: "tlsFailed")
    /// The HTTP proxy refuses the connection, or the name and password.
    public static let proxyRefused = Self(rawValue: "proxyRefused")
    /// The server answered with a redirect, which is never followed.
    public static let redirected = Self(rawValue: "redirected")
    /// The server speaks another version of the protocol.
    public static let unsupportedVersion = Self(rawValue: "unsupportedVersion")
}

extension LinkspanError: CustomStringConvertible {
    /// The code and the message, and the cause when there is one, in one line that is fit for a log.
    ///
    /// Messages and causes from outside the SDK may hold anything; see ``ForeignText``.
    public var description: String {
        var text = "\(self.code.rawValue): \(self.message)"
        switch self.certainty {
        case .notSent: text += " (not sent)"
        case .unknown: text += " (may have been received)"
        case nil: ()
        }
        var cause = self.cause
        while let error = cause {
            let linkspan = error as? LinkspanError
            // A sentence often has that of its cause in it.
            if !text.contains(Self.predicate(of: linkspan?.message ?? "\(error)")) {
                text += " <- " + (linkspan.map { "\($0.code.rawValue): \($0.message)" } ?? "\(error)")
            }
            cause = linkspan?.cause
        }
        return ForeignText.line(text, limit: 2_000)
    }

    /// The message without its subject, if that is the server.
    static func predicate(of message: String) -> Substring {
        message.hasPrefix("the server ") ? message.dropFirst(11) : message[...]
    }
}

extension LinkspanError {
    /// Makes the error that another one causes, whose message ends the sentence.
    init(_ code: Code, _ message: String, because cause: LinkspanError?, certainty: Certainty? = nil) {
        self.init(code, message + (cause.map { ": \($0.message)" } ?? ""), cause: cause, certainty: certainty)
    }

    /// The error of commands on a connection that has failed permanently.
    init(failedForGood cause: LinkspanError) {
        self.init(
            .disconnected, "the connection has failed and sends nothing until connect() is called", because: cause,
            certainty: .notSent)
    }

    /// The error of an attempt with the URL, which stands for the server.
    func placed(at url: ConnectionURL) -> Self {
        let place = url.path == "/" ? String(url.description.dropLast()) : url.description
        guard self.code != .credentialsUnavailable, !self.message.contains(place) else { return self }
        let predicate = Self.predicate(of: self.message)
        var placed = self
        placed.message = predicate.count < self.message.count ? "\(place) \(predicate)" : "\(place): \(predicate)"
        return placed
    }

    static let disconnectedByApp = Self(.disconnected, "the app has disconnected")

    /// Whether deliveries that end with it stay in the store.
    var leavesDeliveries: Bool { [.released, .loggedOut, .moved].contains(self.code) }
}
