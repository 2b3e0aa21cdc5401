internal import LinkspanNetwork
internal import LinkspanRuntime

/// The engines in use, so that namespaces of one server can share one; its methods are called on the loop.
final class SocketIOEngines: Sendable {
    let loop: any NetworkLoop
    private let engines: Confined<[EngineKey: SocketIOEngine]>
    private let memory: Confined<CarrierMemory>
    private let latestFacts: Confined<[String: String]>

    init(loop: any NetworkLoop) {
        self.loop = loop
        self.engines = Confined([:], to: loop)
        self.memory = Confined(CarrierMemory(), to: loop)
        self.latestFacts = Confined([:], to: loop)
    }

    /// The facts about a link, in the memory of the same facts about the latest one: most links have the same.
    func shared(_ facts: [String: String]) -> [String: String] {
        if self.latestFacts.value != facts { self.latestFacts.value = facts }
        return self.latestFacts.value
    }

    /// Joins a link to the engine for its key, or to a new one when there is none that takes it.
    ///
    /// - Parameters:
    ///   - link: the link.
    ///   - key: its key.
    ///   - onJoined: called with the engine before any event of the link.
    func join(_ link: SocketIOLink, _ key: EngineKey, onJoined: (SocketIOEngine) -> Void) {
        let mayShare =
            key.configuration.isMultiplexed && !self.memory.value.isSeparated(key.place, now: self.loop.moment)
        if mayShare, let engine = self.engines.value[key], engine.join(link, onJoined: onJoined) { return }
        let engine = SocketIOEngine(key: key, loop: self.loop, memory: self.memory) { self.remove($0) }
        if mayShare { self.engines.value[key] = engine }
        _ = engine.join(link, onJoined: onJoined)
        engine.open()
    }

    /// Gives an engine no more links.
    private func remove(_ engine: SocketIOEngine) {
        if self.engines.value[engine.key] === engine { self.engines.value[engine.key] = nil }
    }
}
