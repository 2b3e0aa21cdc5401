/// Who we are, for one attempt, whatever the transport.
public struct Credentials: Sendable {
    /// What the server gets in the handshake of the messaging protocol: the auth payload of Socket.IO, the first frame
    /// of the raw WebSocket envelope.
    ///
    /// At most one argument.
    public var auth: Payload?
    /// Extra HTTP headers of the upgrade request, such as `Authorization`.
    public var headers: [Header]
    /// Extra query items of the request.
    ///
    /// Prefer ``auth`` or ``headers``: queries end up in server logs.
    public var query: [QueryItem]

    /// Nothing to show.
    public static let none = Self()

    /// Makes credentials.
    public init(auth: Payload? = nil, headers: [Header] = [], query: [QueryItem] = []) {
        self.auth = auth
        self.headers = headers
        self.query = query
    }

    /// Makes credentials from a value that is sent as the auth payload.
    ///
    /// - Throws: ``LinkspanError`` with code `encodingFailed`.
    public init(auth value: some Encodable) throws(LinkspanError) {
        self.init(auth: try Payload(value))
    }

    /// A header: a name and a secret value.
    public struct Header: Sendable, Hashable {
        /// The header's name.
        public var name: String
        /// The header's value.
        public var value: Secret

        /// Makes a header.
        public init(_ name: String, _ value: Secret) {
            self.name = name
            self.value = value
        }
    }

    /// A query item: a name and a secret value, both not yet percent-encoded.
    public struct QueryItem: Sendable, Hashable {
        /// The item's name.
        public var name: String
        /// The item's value.
        public var value: Secret

        /// Makes an item.
        public init(_ name: String, _ value: Secret) {
            self.name = name
            self.value = value
        }
    }
}

extension Credentials: CustomStringConvertible, CustomReflectable {
    /// Nothing to look into.
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// Which kinds there are, never what they are.
    public var description: String {
        "credentials(auth: \(self.auth == nil ? "none" : "<redacted>"), headers: \(self.headers.map(\.name)), "
            + "query: \(self.query.map(\.name)))"
    }
}

/// A text that never prints.
public struct Secret: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible,
    CustomDebugStringConvertible, CustomReflectable
{
    /// The text itself.
    ///
    /// Whoever takes it answers for where it goes.
    public let exposed: String

    /// Hides a text.
    public init(_ text: String) { self.exposed = text }
    /// Hides a text.
    public init(stringLiteral value: String) { self.exposed = value }

    /// Always `<redacted>`.
    public var description: String { "<redacted>" }
    /// Always `<redacted>`.
    public var debugDescription: String { "<redacted>" }
    /// Nothing to look into.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Supplies credentials: asked before each attempt to connect.
public protocol CredentialProvider: Sendable {
    /// Returns the credentials for one attempt.
    ///
    /// Called from a task of its own, never twice at a time for one connection. The task is cancelled when the
    /// connection's credential deadline passes.
    ///
    /// - Parameter request: for what, and why now.
    /// - Returns: the credentials.
    /// - Throws: anything; the attempt then fails with code `credentialsUnavailable` and is repeated by the retry policy.
    func credentials(for request: CredentialRequest) async throws -> Credentials
}

/// Why credentials are wanted.
public struct CredentialRequest: Sendable, Hashable {
    /// The endpoint.
    public var url: ConnectionURL
    /// Why now.
    public var reason: Reason

    /// Makes a request.
    public init(url: ConnectionURL, reason: Reason) {
        self.url = url
        self.reason = reason
    }

    /// Why credentials are wanted.
    public enum Reason: Sendable, Hashable {
        /// The first attempt of a connection.
        case first
        /// An attempt after a loss or a failure; the former credentials were not refused.
        case retry
        /// The server has refused the former credentials. Renew them: a second refusal ends the attempts.
        case refused
    }
}

/// Where a connection gets its credentials.
public struct CredentialSource: Sendable {
    let kind: Kind

    enum Kind: Sendable {
        case fixed(Credentials)
        case provider(any CredentialProvider)
    }

    /// No credentials.
    public static let none = Self(kind: .fixed(.none))

    /// The same credentials for every attempt.
    public static func fixed(_ credentials: Credentials) -> Self { Self(kind: .fixed(credentials)) }

    /// Asks a provider before each attempt.
    public static func provider(_ provider: any CredentialProvider) -> Self { Self(kind: .provider(provider)) }

    /// Asks a closure before each attempt.
    public static func provider(
        _ provide: @escaping @Sendable (CredentialRequest) async throws -> Credentials
    ) -> Self {
        Self(kind: .provider(ClosureCredentialProvider(provide: provide)))
    }

    /// Whether a refusal can be answered with other credentials.
    var isRenewable: Bool {
        if case .provider = self.kind { true } else { false }
    }
}

private struct ClosureCredentialProvider: CredentialProvider {
    let provide: @Sendable (CredentialRequest) async throws -> Credentials

    func credentials(for request: CredentialRequest) async throws -> Credentials {
        try await self.provide(request)
    }
}
