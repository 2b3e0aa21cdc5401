internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime

/// The engines in use, so that namespaces of one server can share one; its methods are called on the loop.
final class SocketIOEngines: Sendable {
    /// The values that links must agree on to share an engine.
    struct Key: Sendable, Hashable {
        var host: String
        var port: Int
        var isSecure: Bool
        var query: String?
        var headers: [Credentials.Field]
        var items: [Credentials.Field]
        var settings: SocketIOTransport.Settings
        /// The owner of the session: users of one process never share a socket, cookies or what was learned about the
        /// way.
        var identity: ConnectionIdentity

        var configuration: SocketIOTransport.Configuration { self.settings.configuration }

        var place: CarrierMemory.Place {
            CarrierMemory.Place(
                host: self.host, port: self.port, isSecure: self.isSecure, path: self.configuration.endpoint,
                identity: self.identity.hashValue)
        }
    }

    let loop: any NetworkLoop
    private let engines: Confined<[Key: SocketIOEngine]>
    private let memory: Confined<CarrierMemory>

    init(loop: any NetworkLoop) {
        self.loop = loop
        self.engines = Confined([:], to: loop)
        self.memory = Confined(CarrierMemory(), to: loop)
    }

    /// Joins a link to the engine for its key, or to a new one when there is none that takes it.
    func join(_ link: SocketIOLink) {
        let key = link.key
        if link.configuration.isMultiplexed, let engine = self.engines.value[key], engine.join(link) {
            return
        }
        let engine = SocketIOEngine(key: key, request: link.request, engines: self)
        if link.configuration.isMultiplexed { self.engines.value[key] = engine }
        _ = engine.join(link)
        engine.open()
    }

    /// The carrier that a new engine begins with.
    func choice(for key: Key) -> CarrierChoice {
        self.memory.value.choice(for: key.place, key.configuration.carriers, now: self.loop.now)
    }

    /// The carrier that an engine goes on with when its former one could not be opened; nil when it has to give up.
    func otherChoice(insteadOf choice: CarrierChoice, for key: Key, after error: LinkspanError) -> CarrierChoice? {
        self.memory.value.otherChoice(for: key.place, key.configuration.carriers, insteadOf: choice, after: error)
    }

    /// An engine's carrier has brought a session about.
    func worked(_ choice: CarrierChoice, for key: Key) {
        self.memory.value.worked(choice, for: key.place, now: self.loop.now)
    }

    /// An engine takes no more links.
    func remove(_ engine: SocketIOEngine) {
        if self.engines.value[engine.key] === engine { self.engines.value[engine.key] = nil }
    }
}
