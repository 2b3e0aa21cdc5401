/// Where connections get their credentials.
///
/// A source with a provider is shared by all configurations that were given the same value: connections of one server
/// (scheme, host and port) then wait for one call of the provider instead of each making its own, and a renewal after a
/// refusal serves them all. Give connections whose credentials differ a source each.
///
/// ```swift
/// let source = CredentialSource.provider { request in
///     let token = try await session.token(renewed: request.reason == .refused)
///     return try Credentials(auth: ["token": token.text], validFor: token.lifetime)
/// }
/// ```
///
/// Credentials that name a ``Credentials/url`` are for one endpoint alone; then connections share only when their
/// configured URLs are equal.
public struct CredentialSource: Sendable {
    let kind: Kind

    enum Kind: Sendable {
        case fixed(Credentials)
        case provider(SharedCredentials)
    }

    /// No credentials.
    public static let none = Self(kind: .fixed(.none))

    /// The same credentials for every attempt.
    public static func fixed(_ credentials: Credentials) -> Self { Self(kind: .fixed(credentials)) }

    /// Asks a provider before each attempt.
    public static func provider(_ provider: any CredentialProvider) -> Self {
        Self(kind: .provider(SharedCredentials(provider: provider)))
    }

    /// Asks a closure before each attempt.
    public static func provider(
        _ provide: @escaping @Sendable (CredentialRequest) async throws -> Credentials
    ) -> Self {
        .provider(ClosureCredentialProvider(provide: provide))
    }

    /// Whether there is nothing to show.
    package var isNone: Bool {
        guard case .fixed(let credentials) = self.kind else { return false }
        return credentials.auth == nil && credentials.url == nil && credentials.headers.isEmpty
            && credentials.query.isEmpty
    }

    /// Whether a refusal can be answered with other credentials.
    var isRenewable: Bool {
        if case .provider = self.kind { true } else { false }
    }
}

extension CredentialSource: CustomStringConvertible, CustomReflectable {
    /// Nothing to look into.
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// Which kind it is, never what it gives.
    public var description: String {
        switch self.kind {
        case .fixed(let credentials): "fixed \(credentials)"
        case .provider: "credentials of a provider"
        }
    }
}

private struct ClosureCredentialProvider: CredentialProvider {
    let provide: @Sendable (CredentialRequest) async throws -> Credentials

    func credentials(for request: CredentialRequest) async throws -> Credentials {
        try await self.provide(request)
    }
}
