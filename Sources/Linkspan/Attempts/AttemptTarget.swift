internal import LinkspanRuntime

/// The place that attempts go to: the connection's own URL, or one of several endpoints.
struct AttemptTarget: Sendable {
    private var rotation: Boxed<EndpointRotation>?
    /// The URL of the latest link.
    private var latestURL: ConnectionURL?

    init(_ endpoints: EndpointRotation?) { self.endpoints = endpoints }

    /// The endpoints to choose from; nil for the connection's own URL alone.
    var endpoints: EndpointRotation? {
        get { self.rotation?.value }
        set { self.rotation = newValue.map { Boxed($0) } }
    }

    /// Chooses from another list from the next attempt on.
    mutating func adopt(_ endpoints: EndpointRotation?) {
        guard var next = endpoints, let former = self.endpoints else { return self.endpoints = endpoints }
        guard !former.isLike(next) else { return }
        next.begin(at: former.url)
        self.endpoints = next
    }

    /// Adds the endpoints that the server has named to those that there are.
    mutating func learn(_ urls: [ConnectionURL]) {
        guard let own = self.latestURL, !urls.isEmpty else { return }
        let known = self.endpoints?.urls ?? [own]
        // Credentials go there, too: what the server says must not give up encryption.
        let new = urls.filter { $0.scheme == own.scheme && !known.contains($0) }.prefix(32)
        self.endpoints = self.endpoints?.adding(new) ?? EndpointRotation(known + new, Endpoints(returnAfter: nil)) { 0 }
    }

    /// The place in the list, for the status of a connection that is up since then, or is down.
    func place(upSince since: Moment?) -> EndpointPlace? {
        guard let endpoints = self.endpoints, let first = endpoints.urls.first else { return nil }
        return EndpointPlace(
            url: endpoints.url, number: endpoints.index + 1, count: endpoints.urls.count,
            policy: endpoints.rules.order, first: first, returns: since.flatMap { endpoints.returnDeadline(since: $0) })
    }

    /// Notes the URL of a new link.
    ///
    /// - Returns: whether a connection with several endpoints moves to another one.
    mutating func moves(to url: ConnectionURL) -> Bool {
        defer { self.latestURL = url }
        return self.rotation != nil && url != self.latestURL
    }

    /// The error of an attempt, with the URL.
    func placed(_ error: LinkspanError) -> LinkspanError { self.latestURL.map { error.placed(at: $0) } ?? error }
}
