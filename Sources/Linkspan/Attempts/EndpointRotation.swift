internal import LinkspanRuntime

/// Decides which endpoint of several the next attempt goes to.
///
/// Pure: failures come in. Endpoints are tried in rounds; a round is over when each of them has failed.
struct EndpointRotation: Sendable {
    /// The endpoints in the order in which they are tried.
    private(set) var urls: [ConnectionURL]
    let rules: Endpoints
    /// The endpoint of the link or attempt, or of the next attempt.
    private(set) var index = 0
    /// The endpoints that have failed in this round.
    private var failed: Set<Int> = []
    /// The endpoints that have refused permanently since the connection was last up.
    private var refused: Set<Int> = []
    /// The rounds that are over since the connection was last up.
    private(set) var rounds = 0
    /// The count of returns to the first since it was last reached.
    private var returns = 0
    /// The earliest moment at which the way back to the first begins, when that was put off.
    private var returnNotBefore: Moment?

    /// Makes a rotation; nil for a single endpoint.
    ///
    /// - Parameters:
    ///   - urls: the endpoints, the connection's own first.
    ///   - rules: the order of the attempts, and the time after which the first endpoint is tried again.
    ///   - random: a number from 0 up to 1.
    init?(_ urls: [ConnectionURL], _ rules: Endpoints, random: () -> Double) {
        guard urls.count > 1 else { return nil }
        var urls = urls
        if rules.isShuffled {
            for index in urls.indices.dropLast() {
                urls.swapAt(index, index + Int(random() * Double(urls.count - index)))
            }
        }
        self.urls = urls
        self.rules = rules
    }

    var url: ConnectionURL { self.urls[self.index] }

    /// The time a connection stays with an endpoint that is not the first; nil for ever.
    private var stay: Duration? {
        guard !self.rules.isShuffled, self.index > 0 else { return nil }
        return self.rules.returnAfter.map { $0 * (1 << min(self.returns, 4)) }
    }

    /// Whether the same endpoints are used in the same way.
    func isLike(_ other: Self) -> Bool {
        self.rules.isShuffled == other.rules.isShuffled && self.rules.returnAfter == other.rules.returnAfter
            && (self.rules.isShuffled ? Set(self.urls) == Set(other.urls) : self.urls == other.urls)
    }

    /// The same with more endpoints behind the others.
    func adding(_ more: some Sequence<ConnectionURL>) -> Self {
        var wider = self
        wider.urls += more
        return wider
    }

    /// Begins at the endpoint that a former rotation used, if this one has it.
    mutating func begin(at url: ConnectionURL) { self.index = self.urls.firstIndex(of: url) ?? 0 }
}

// MARK: - What happens

extension EndpointRotation {
    /// The consequence of a failure for the attempts to come.
    enum Outlook: Sendable, Hashable {
        /// There is an endpoint that has not failed in this round.
        case another
        /// The round is over.
        case roundOver
        /// Every endpoint refuses permanently, or the failure says nothing about the endpoint.
        case none
    }

    /// An attempt failed, or its link did not last.
    mutating func fail(_ error: LinkspanError) -> Outlook {
        guard error.isAboutEndpoint else { return .none }
        self.failed.insert(self.index)
        if error.isPermanent { self.refused.insert(self.index) }
        let open = self.urls.indices.filter { !self.refused.contains($0) }
        if let next = open.first(where: { !self.failed.contains($0) }) {
            self.index = next
            return .another
        }
        self.failed = []
        self.rounds += 1
        self.index = open.first ?? 0
        return open.isEmpty ? .none : .roundOver
    }

    /// The moment at which a link that is up since then is left for the first endpoint; nil for never.
    func returnDeadline(since: Moment) -> Moment? {
        self.stay.map { max(since + $0, self.returnNotBefore ?? since) }
    }

    /// Puts the way back off for a second, if it is due, and for a minute altogether.
    mutating func putOffReturn(since: Moment, now: Moment) {
        guard let stay = self.stay else { return }
        let due = since + stay
        if due <= now, now < due + .seconds(60) { self.returnNotBefore = now + .seconds(1) }
    }

    /// A link is up.
    mutating func connected() {
        self.startRound()
        self.returnNotBefore = nil
        if self.index == 0 { self.returns = 0 }
    }

    /// The app asks for a link: all endpoints count as untried, and the first comes first.
    mutating func startOver() {
        self.startRound()
        self.index = 0
    }

    /// Leaves for the first endpoint.
    mutating func beginReturn() {
        self.startOver()
        self.returns += 1
    }

    private mutating func startRound() {
        self.failed = []
        self.refused = []
        self.rounds = 0
    }
}

extension LinkspanError {
    /// Whether another endpoint may do better.
    fileprivate var isAboutEndpoint: Bool {
        switch self.code {
        case .credentialsRefused, .credentialsUnavailable, .closedByServer, .pathLost, .suspended, .moved: false
        default: true
        }
    }
}

extension Destination {
    /// The endpoints to choose from; nil for the URL alone.
    func rotation(_ random: () -> Double) -> EndpointRotation? {
        // They were checked when the options were.
        let urls = (try? self.options.endpoints.list(after: self.url)) ?? [self.url]
        return EndpointRotation(urls, self.options.endpoints, random: random)
    }
}
