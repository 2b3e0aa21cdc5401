/// A request for credentials, with its reason.
public struct CredentialRequest: Sendable, Hashable {
    /// The configured endpoint of the connection that asks, or of the first that asks when several do.
    public var url: ConnectionURL
    /// The reason for the request.
    public var reason: Reason

    /// The reason for a request.
    public enum Reason: Sendable, Hashable {
        /// The first attempt of a connection.
        case first
        /// An attempt after a loss or a failure; the former credentials were not refused.
        case retry
        /// The server has refused the former credentials. Renew them: a second refusal ends the attempts.
        case refused
        /// The credentials of a connection that is up expire soon; see ``Credentials/validFor``.
        ///
        /// Asked after 75 to 80 % of their time, and until it ends again on the default schedule of a ``RetryPolicy`` as
        /// long as the provider fails. The connection stays up in either case.
        case expiring

        /// Whether the request tells the provider that the former credentials were refused.
        var isRenewal: Bool {
            switch self {
            case .first, .retry: false
            case .refused, .expiring: true
            }
        }
    }
}
