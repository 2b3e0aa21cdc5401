internal import LinkspanRuntime

/// The rules by which a connection makes its attempts.
struct AttemptRules: Sendable {
    /// The connection has them anyway, so that they are not copied.
    let sharedOptions: Boxed<ConnectionOptions>
    /// The shortest time between the beginnings of two attempts that nobody asked for.
    let spacing: Duration
    /// Whether a refusal can be answered with other credentials.
    let canRenewCredentials: Bool

    var credentialDeadline: Duration { self.sharedOptions.value.credentialDeadline }
    var openDeadline: Duration { self.sharedOptions.value.openDeadline }
    /// The time that a link must have been up before a loss counts as the first failure of a new outage.
    var healthyAfter: Duration { self.sharedOptions.value.healthyAfter }

    /// The time after which to try again; nil not to.
    ///
    /// - Parameters:
    ///   - error: the failure.
    ///   - outlook: the consequence of the failure among several endpoints.
    ///   - rounds: the rounds over several endpoints that are over; nil for a single endpoint.
    ///   - outage: the outage so far, this failure included.
    ///   - now: the present.
    ///   - random: from 0 up to 1.
    /// - Returns: the time.
    func delay(
        after error: LinkspanError, _ outlook: EndpointRotation.Outlook?, rounds: Int?, _ outage: Outage, now: Moment,
        random: Double
    ) -> Duration? {
        var question = RetryQuestion(
            error: error, failures: outage.failures, outage: outage.start?.duration(to: now) ?? .zero, random: random)
        question.isFlapping = outage.isFlapping(error, within: self.healthyAfter, now: now)
        question.rounds = rounds.map { outlook == .another ? 1 : $0 }
        if outlook == .another || outlook == .roundOver && error.isPermanent {
            // What one endpoint says does not hold for another.
            question.error = LinkspanError(.connectionLost, error.message, cause: error)
        } else if outage.violations >= 3 {
            // One answer may be a proxy's, three in a row are a server's that speaks something else.
            question.error = LinkspanError(.unsupportedVersion, error.message, cause: error)
        }
        return self.sharedOptions.value.retry.delay(for: question).map { max(.zero, $0) }
    }
}

extension AttemptRules {
    var credentialTimeout: LinkspanError {
        LinkspanError(
            .credentialsUnavailable, "the credential provider did not answer within \(self.credentialDeadline.text)")
    }

    /// The error of a link that is not up in time, and what its opening waits for.
    func openTimeout(_ stage: String?) -> LinkspanError {
        LinkspanError(.timedOut, "no connection within \(self.openDeadline.text)\(stage.map { ", still \($0)" } ?? "")")
    }

    /// The rules for a destination.
    init(_ destination: Destination, spacing: Duration) {
        self.init(
            sharedOptions: destination.configuration.sharedOptions, spacing: spacing,
            canRenewCredentials: destination.source.isRenewable)
    }
}
