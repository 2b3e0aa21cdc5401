internal import LinkspanRuntime

/// Links to several endpoints, of which the first that opens is kept.
///
/// Behind a reference, because few connections ever have one.
final class EndpointRace {
    let epoch: UInt64
    /// The links that have neither opened nor failed, by endpoint.
    var links: [Int: any Link] = [:]
    /// The endpoints as they were when the race began: the connection's list may change meanwhile.
    let urls: [ConnectionURL]
    /// The most telling failure so far.
    var error: LinkspanError?

    init(epoch: UInt64, urls: [ConnectionURL]) {
        self.epoch = epoch
        self.urls = urls
    }

    /// Notes that a link has failed.
    func lose(_ candidate: Int, _ error: LinkspanError) {
        self.links[candidate] = nil
        if (self.error?.weight ?? -1) <= error.weight { self.error = error }
    }
}

extension LinkspanError {
    /// The importance for an attempt that failed at several endpoints: refused credentials are the service's answer,
    /// and what may pass counts more than what does not.
    fileprivate var weight: Int { self.code == .credentialsRefused ? 2 : self.isPermanent ? 0 : 1 }
}

extension ConnectionCore {
    /// Opens a link to each candidate.
    func race(epoch: UInt64, _ candidates: [Int], _ request: LinkRequest, urls: [ConnectionURL]) {
        let race = EndpointRace(epoch: epoch, urls: urls)
        for candidate in candidates {
            var request = request
            request.url = urls[candidate]
            // A session is at the endpoint that it was lost at.
            if request.url != self.lastEndpoint { request.resumption = nil }
            let adapter = LinkAdapter(core: self, epoch: epoch, candidate: candidate)
            race.links[candidate] = self.destination.transport.makeLink(request, receiver: adapter)
        }
        self.race = race
        self.raceWinner = nil
        // Each is an attempt to its server.
        for _ in candidates.dropFirst() { self.environment.attempts.spend(now: self.now) }
        for candidate in candidates { if let link = race.links[candidate] { self.calling { link.open() } } }
    }

    /// Takes events of a link that races, or has raced.
    func receive(
        epoch: UInt64, from candidate: Int, at start: Moment, _ next: () -> LinkEvent?
    ) {
        while self.race?.epoch == epoch, let event = next() {
            switch event {
            case .opened:
                self.win(candidate, epoch: epoch)
                var first: LinkEvent? = event
                return self.receive(epoch: epoch, at: start) { first.take() ?? next() }
            case .closed(let error):
                self.race?.lose(candidate, error)
                guard let race = self.race, race.links.isEmpty else { continue }
                self.race = nil
                var last: LinkEvent? = .closed(race.error ?? error)
                return self.receive(epoch: epoch, at: start) { last.take() }
            case .changed, .message, .reply, .writable: ()
            }
        }
        if let winner = self.raceWinner, winner.epoch == epoch, winner.candidate == candidate {
            return self.receive(epoch: epoch, at: start, next)
        }
        while let event = next() { if case .closed = event { self.formerLinkEnded() } }
    }

    private func win(_ candidate: Int, epoch: UInt64) {
        guard let race = self.race, let link = race.links.removeValue(forKey: candidate) else { return }
        let url = race.urls[candidate]
        self.endRace()
        self.raceWinner = (epoch, candidate)
        self.machine.choose(endpoint: url)
        self.link = link
        self.latestLink = link
        self.noteEndpoint(url)
    }

    /// Notes the endpoint of the latest link, for sessions and for the observer.
    func noteEndpoint(_ url: ConnectionURL) {
        defer { self.lastEndpoint = url }
        guard self.machine.endpoint != nil, url != self.lastEndpoint else { return }
        self.probe?.moved(
            to: ObservedConnection(
                id: self.id, endpoint: url.description, transport: self.destination.transport.name))
    }

    /// Ends the links that still race.
    func endRace() {
        guard let race = self.race else { return }
        self.race = nil
        for (_, link) in race.links.sorted(by: { $0.key < $1.key }) {
            self.endingLinks += 1
            self.effects.append(.endLink(link, politely: false))
        }
    }
}
