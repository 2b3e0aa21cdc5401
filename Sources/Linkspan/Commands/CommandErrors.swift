internal import LinkspanRuntime

extension LinkspanError {
    /// The error of commands on a connection that has failed permanently.
    init(failedForGood cause: LinkspanError) {
        self.init(
            .disconnected, "the connection has failed and sends nothing until connect() is called", cause: cause,
            certainty: .notSent)
    }
}

extension Optional<Moment> {
    /// The earlier of two deadlines, of which either may not exist.
    static func earliest(_ one: Self, _ other: Self) -> Self {
        guard let one, let other else { return one ?? other }
        return Swift.min(one, other)
    }
}
