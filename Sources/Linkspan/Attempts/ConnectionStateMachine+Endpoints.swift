internal import LinkspanRuntime

extension ConnectionStateMachine {
    /// The endpoint of the link or attempt, or of the next attempt; nil for the connection's own URL.
    var endpoint: ConnectionURL? { self.endpoints?.url }

    /// The place in the list, for the status.
    var place: EndpointPlace? {
        guard let endpoints = self.endpoints, let first = endpoints.urls.first else { return nil }
        var returns: Moment?
        if case .connected(_, let since) = self.phase { returns = self.returnDeadline(since: since) }
        return EndpointPlace(
            url: endpoints.url, number: endpoints.index + 1, count: endpoints.urls.count, policy: endpoints.policy.rawValue,
            first: first, returns: returns)
    }

    /// Whether the way back to the first endpoint is due, and may be put off while requests are under way.
    func mayPutOffReturn(now: Moment) -> Bool {
        guard case .connected(_, let since) = self.phase, let stay = self.endpoints?.stay else { return false }
        let due = since + stay
        return due <= now && now < due + .seconds(60)
    }

    /// Puts the way back off for a second.
    mutating func putOffReturn(now: Moment) { self.returnNotBefore = now + .seconds(1) }

    func returnDeadline(since: Moment) -> Moment? {
        self.endpoints?.stay.map { max(since + $0, self.returnNotBefore ?? since) }
    }

    /// Leaves the link for an attempt at the first endpoint.
    mutating func returnToFirst(_ epoch: UInt64, now: Moment) -> [Action] {
        let reason = LinkspanError(.moved, "the connection returns to its first endpoint")
        self.endpoints?.beginReturn()
        self.returnNotBefore = nil
        self.failures = 0
        self.attempts = 0
        self.outageStart = now
        let down = self.change(from: .connected, to: .disconnected, .lost(reason), now: now)
        let up = self.change(from: .disconnected, to: .reconnecting, .lost(reason), now: now, nextAttempt: now)
        return [.endLink(epoch: epoch, politely: true), .announce(down)] + self.beginAttempt(now: now, announcing: up)
    }

    /// Uses another list from the next attempt on.
    mutating func adopt(_ next: EndpointRotation?) {
        guard var next, let former = self.endpoints else { return self.endpoints = next }
        guard !former.isLike(next) else { return }
        next.begin(at: former.url)
        self.endpoints = next
    }
}
