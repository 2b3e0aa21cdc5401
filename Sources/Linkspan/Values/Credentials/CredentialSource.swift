package import LinkspanRuntime

/// The source of the credentials of connections.
///
/// A source with a provider is shared by all configurations that were given the same value: connections of one server
/// (scheme, host and port) then wait for one call of the provider instead of each making its own, and a renewal after a
/// refusal serves them all. Give connections whose credentials differ a source each.
///
/// The source is part of a connection's identity: the pool never gives a connection of one source to a caller with
/// another. Two sources with a provider are equal when one is a copy of the other, so keep the value for as long as the
/// user is signed in; fixed credentials are equal by content. ``ConnectionManager/logOut(_:keepingDeliveries:within:)`` ends everything
/// that was made with a source.
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
public struct CredentialSource: Sendable, Hashable {
    let kind: Kind
    /// The name of the user's account, which separates stored data from that of other users; nil
    /// when nobody needs it.
    ///
    /// Not a secret. Sources with different accounts are different.
    package let account: String?

    enum Kind: Sendable, Hashable {
        indirect case fixed(Credentials)
        case provider(SharedCredentials)
    }

    /// No credentials.
    public static let none = Self(kind: .fixed(Credentials()), account: nil)

    /// The same credentials for every attempt.
    public static func fixed(_ credentials: Credentials, account: String? = nil) -> Self {
        Self(kind: .fixed(credentials), account: account)
    }

    /// Asks a provider before each attempt.
    ///
    /// Each call makes a source of its own, even with the same provider.
    ///
    /// - Parameters:
    ///   - account: the name of the user's account.
    ///   - provide: the provider. Called from a task of its own, and not twice at a time for one server: connections
    ///     that ask meanwhile get the same answer. The task is cancelled when no connection waits for it any more, each
    ///     of them for 10 s; only behind a cancelled call that goes on may there be another. When it throws, the attempt
    ///     fails with code `credentialsUnavailable` and is repeated by the retry policy.
    /// - Returns: the source.
    public static func provider(
        account: String? = nil, _ provide: @escaping @Sendable (CredentialRequest) async throws -> Credentials
    ) -> Self {
        let shared = SharedCredentials { request, _ in try await provide(request) }
        return Self(kind: .provider(shared), account: account)
    }

    /// Asks a closure whose answers serve all servers, for sources that do more than to answer connections.
    ///
    /// - Parameters:
    ///   - account: the name of the user's account.
    ///   - onForget: called when the source is logged out, with how often it has been.
    ///   - onRefusal: called when a connection has given up because the server accepts no credentials of the source.
    ///   - provide: told how often the source had been logged out; never called twice at a time.
    /// - Returns: the source.
    package static func everywhere(
        account: String? = nil, onForget: @escaping @Sendable (_ login: UInt64) -> Void,
        onRefusal: @escaping @Sendable (_ login: UInt64) -> Void,
        provide: @escaping @Sendable (CredentialRequest, _ login: UInt64) async throws -> Credentials
    ) -> Self {
        let shared = SharedCredentials(
            isForAllServers: true, onForget: onForget, onRefusal: onRefusal, provide: provide)
        return Self(kind: .provider(shared), account: account)
    }

    /// A connection has given up because its credentials were refused.
    func refused(login: UInt64) { self.shared?.onRefusal(login) }

    /// Asks the provider for newer credentials than there are, unless it is being asked.
    ///
    /// - Returns: a call that stops waiting for them; the provider is cancelled when nobody else waits.
    package func renew(
        _ url: ConnectionURL, scheduler: any Scheduler, onFailure: @escaping @Sendable (_ login: UInt64) -> Void
    ) -> @Sendable () -> Void {
        if let shared = self.shared { shared.renew(url, scheduler: scheduler, onFailure: onFailure) } else { {} }
    }

    /// Whether there is nothing to show.
    package var isNone: Bool {
        guard case .fixed(let credentials) = self.kind else { return false }
        return credentials.auth == nil && credentials.url == nil && credentials.headers.isEmpty
            && credentials.query.isEmpty
    }

    /// Forgets what the provider has answered, and gives nothing to connections that were made before.
    ///
    /// - Returns: a call that cancels the provider where it is being asked, and fails those who wait for it.
    func forget() -> @Sendable () -> Void { if let shared = self.shared { shared.forget() } else { {} } }

    /// The number of times that it has been logged out; 0 for one without a provider.
    var login: UInt64 { self.shared?.login ?? 0 }

    /// Whether a refusal can be answered with other credentials.
    var isRenewable: Bool { self.shared != nil }

    private var shared: SharedCredentials? { if case .provider(let shared) = self.kind { shared } else { nil } }
}
