public import Linkspan
public import LinkspanRuntime

/// A source of tokens, shared by the connections of a plan and the service that renews them ahead.
///
/// ```swift
/// let tokens = TokenSource { reason in
///     let token = try await session.token(renewed: reason != .first)
///     return Credentials(
///         headers: [.init("Authorization", Secret("Bearer \(token.text)"))],
///         validFor: token.lifetime)
/// }
/// catalog.add(.tokenRefresh(tokens))
/// plan.credentials = tokens.credentials
/// ```
///
/// As with every provider, the newest token serves all attempts in the first four fifths of its time, one fetch is
/// under way at most, and all callers share it; unlike other credentials, a token is for all servers. While a token
/// cannot be renewed, attempts get the old one until it expires. Without the service a token is fetched only when a connection
/// asks.
public final class TokenSource: Sendable {
    /// The credential source to give to connections, and to ``/LinkspanMessaging/MessagingPlan/credentials``.
    public let credentials: CredentialSource

    let refresher: TokenRefresher

    /// Makes a source.
    ///
    /// - Parameters:
    ///   - fetchLimit: how long a fetch may take; it is cancelled then, and counts as failed.
    ///   - scheduler: the clock.
    ///   - random: random numbers from 0 up to 1, for jitter.
    ///   - fetch: fetches a token. It gets `first` when there is none yet, `expiring` when a former one ends, and
    ///     `refused` when the server did not accept it: then the former one will not do. Credentials without
    ///     ``/Linkspan/Credentials/validFor`` are fetched for each attempt to connect and never renewed ahead. Throw
    ///     ``TokenRevoked`` when there will be no more tokens for this user.
    public init(
        fetchLimit: Duration = .seconds(30), scheduler: any Scheduler = SystemScheduler.shared,
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) },
        fetch: @escaping @Sendable (CredentialRequest.Reason) async throws -> Credentials
    ) {
        let refresher = TokenRefresher(fetchLimit: fetchLimit, scheduler: scheduler, random: random, fetch: fetch)
        self.refresher = refresher
        self.credentials = .everywhere { login in
            // No parent can own this task: a log-out does not wait for its sources.
            Task { await refresher.loggedOut(login) }
        } onRefusal: { login in
            // No parent can own this task: a connection does not wait for it.
            Task { await refresher.refused(login: login) }
        } provide: { request, login in
            try await refresher.credentials(for: request, login: login)
        }
    }
}
