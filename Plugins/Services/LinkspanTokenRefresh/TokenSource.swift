public import Linkspan
public import LinkspanRuntime

/// Where tokens come from, for the connections of a plan and for the service that renews them ahead.
///
/// ```swift
/// let tokens = TokenSource { reason in
///     let token = try await session.token(renewed: reason != .first)
///     return Credentials(headers: [.init("Authorization", Secret("Bearer \(token.text)"))], validFor: token.lifetime)
/// }
/// catalog.add(.tokenRefresh(tokens))
/// plan.credentials = tokens.credentials
/// ```
///
/// The newest token is kept and handed out for as long as it is good, with what is left of its time. One fetch is under
/// way at most, and all who ask meanwhile share it. Without the service a token is fetched only when a connection asks.
public final class TokenSource: Sendable {
    /// What connections use, for ``/LinkspanMessaging/MessagingPlan/credentials``.
    public let credentials: CredentialSource

    let refresher: TokenRefresher

    /// Makes a source.
    ///
    /// - Parameters:
    ///   - fetchLimit: how long a fetch may take; it is cancelled then, and counts as failed.
    ///   - scheduler: the clock.
    ///   - random: random numbers from 0 up to 1, for jitter.
    ///   - fetch: fetches a token. It is told `first` when there is none yet, `expiring` when a former one ends, and
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
        self.credentials = .provider { try await refresher.credentials($0.reason) }
    }
}

/// Thrown by a fetch when there will be no more tokens for this user.
public struct TokenRevoked: Error, Sendable, Hashable {
    /// Makes the error.
    public init() {}
}
