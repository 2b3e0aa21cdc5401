internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime

/// The engines in use, so that namespaces of one server can share one; its methods are called on the loop.
final class SocketIOEngines: Sendable {
    /// The values that links must agree on to share an engine, where the first of them has them.
    ///
    /// The owner is one of them: users of one process never share a socket, cookies or what was learned about the way.
    struct Key: Sendable, Hashable {
        let request: Boxed<LinkRequest>
        let settings: SocketIOTransport.Settings

        init(_ request: Boxed<LinkRequest>, settings: SocketIOTransport.Settings) {
            self.request = request
            self.settings = settings
        }

        var configuration: SocketIOTransport.Configuration { self.settings.configuration }

        var place: CarrierMemory.Place {
            let request = self.request.value
            return CarrierMemory.Place(
                host: request.url.host, port: request.url.port, isSecure: request.url.isSecure,
                path: self.configuration.endpoint, identity: request.identity.hashValue)
        }

        static func == (left: Self, right: Self) -> Bool {
            let (one, other) = (left.request.value, right.request.value)
            return one.url.host == other.url.host && one.url.port == other.url.port
                && one.url.isSecure == other.url.isSecure && one.url.query == other.url.query
                && one.credentials.headers == other.credentials.headers
                && one.credentials.query == other.credentials.query && one.identity == other.identity
                && left.settings == right.settings
        }

        func hash(into hasher: inout Hasher) {
            let request = self.request.value
            hasher.combine(request.url.host)
            hasher.combine(request.url.port)
            hasher.combine(request.url.query)
            hasher.combine(request.identity)
        }
    }

    let loop: any NetworkLoop
    private let engines: Confined<[Key: SocketIOEngine]>
    private let memory: Confined<CarrierMemory>
    private let latestFacts: Confined<[String: String]>
    /// Until when the links to a server have a socket each.
    private let separated: Confined<[CarrierMemory.Place: Moment]>
    /// The time for which they have: a message that is sent again ends its own link then.
    private static let separation = Duration.seconds(600)

    init(loop: any NetworkLoop) {
        self.loop = loop
        self.engines = Confined([:], to: loop)
        self.memory = Confined(CarrierMemory(), to: loop)
        self.latestFacts = Confined([:], to: loop)
        self.separated = Confined([:], to: loop)
    }

    /// The facts about a link, in the memory of the same facts about the latest one: most links have the same.
    func shared(_ facts: [String: String]) -> [String: String] {
        if self.latestFacts.value != facts { self.latestFacts.value = facts }
        return self.latestFacts.value
    }

    /// Joins a link to the engine for its key, or to a new one when there is none that takes it.
    func join(_ link: SocketIOLink) {
        let key = link.key
        let mayShare = link.configuration.isMultiplexed && !self.isSeparated(key)
        if mayShare, let engine = self.engines.value[key], engine.join(link) { return }
        let engine = SocketIOEngine(key: key, engines: self)
        if mayShare { self.engines.value[key] = engine }
        _ = engine.join(link)
        engine.open()
    }

    /// Gives the next links to a server a socket each.
    func separate(_ key: Key) {
        if self.separated.value.count >= CarrierMemory.maximumPlaces { self.separated.value = [:] }
        self.separated.value[key.place] = self.loop.moment.advanced(by: Self.separation)
    }

    private func isSeparated(_ key: Key) -> Bool {
        // Mostly there is none, and a place need not be made.
        guard !self.separated.value.isEmpty, let until = self.separated.value[key.place] else { return false }
        return self.loop.moment < until
    }

    /// The carrier that a new engine begins with.
    func choice(for key: Key) -> CarrierChoice {
        self.memory.value.choice(for: key.place, key.configuration.carriers, now: self.loop.moment)
    }

    /// The carrier that an engine goes on with when its former one could not be opened; nil when it has to give up.
    func otherChoice(insteadOf choice: CarrierChoice, for key: Key, after error: LinkspanError) -> CarrierChoice? {
        self.memory.value.otherChoice(for: key.place, key.configuration.carriers, insteadOf: choice, after: error)
    }

    /// An engine's carrier has brought a session about.
    func worked(_ choice: CarrierChoice, for key: Key) {
        self.memory.value.worked(choice, for: key.place, now: self.loop.moment)
    }

    /// An engine takes no more links.
    func remove(_ engine: SocketIOEngine) {
        if self.engines.value[engine.key] === engine { self.engines.value[engine.key] = nil }
    }
}
