internal import LinkspanRuntime

/// Credentials as their provider gave them: which answer it was, to what, and when.
struct IssuedCredentials: Sendable {
    let credentials: Credentials
    /// Counts the answers of a source, from 1.
    let generation: UInt64
    let issuedAt: Moment
    /// The reason that the provider was given.
    let reason: CredentialRequest.Reason

    /// The time for which credentials of unknown lifetime pass for the outcome of a renewal that another connection
    /// asked for.
    static let trustedFor = Duration.seconds(60)

    /// The instant of their expiry, if it is known.
    var expiry: Moment? {
        guard let validFor = self.validFor else { return nil }
        return self.issuedAt + validFor
    }

    /// The instant of their renewal: after 80 % of their time or up to 5 % of it earlier, so that many clients do not
    /// ask at once.
    ///
    /// - Parameter random: a random number from 0 up to 1.
    /// - Returns: the moment; nil when their lifetime is not known.
    func renewal(random: Double) -> Moment? {
        guard let validFor = self.validFor else { return nil }
        return self.issuedAt + validFor / 5 * 4 - validFor / 20 * random
    }

    /// Whether they are the provider's word on a refusal of just now.
    ///
    /// Those that were renewed before, for instance because the former ones were to expire, are worth an attempt, but
    /// if they are refused, too, the renewal is still to come.
    func isAnswerToRefusal(at now: Moment) -> Bool {
        self.reason == .refused && now < self.issuedAt + Self.trustedFor
    }

    /// Whether they declare to be good for another attempt: in the first 80 % of their time.
    func isReusable(at now: Moment) -> Bool {
        guard let validFor = self.validFor else { return false }
        return now < self.issuedAt + validFor / 5 * 4
    }

    /// Whether a connection whose older credentials were refused may use them, if they are those of a renewal.
    func isTrusted(at now: Moment) -> Bool {
        self.credentials.validFor == nil ? now < self.issuedAt + Self.trustedFor : self.isReusable(at: now)
    }

    /// The time they were given; none when there is nothing left of it.
    private var validFor: Duration? { self.credentials.validFor.flatMap { $0 > .zero ? $0 : nil } }
}

/// Stops to wait for credentials.
typealias CredentialWait = @Sendable () -> Void
