internal import Linkspan
internal import LinkspanLWS
internal import LinkspanLock

/// The engines in use, so that namespaces of one server can share one.
final class SocketIOEngines: Sendable {
    /// Those of the shared loop.
    static let shared = SocketIOEngines(loop: .shared)

    /// What links must agree on to share an engine.
    struct Key: Sendable, Hashable {
        var host: String
        var port: Int
        var isSecure: Bool
        var query: String?
        var headers: [Credentials.Header]
        var items: [Credentials.QueryItem]
        var configuration: SocketIOTransport.Configuration
    }

    let loop: EventLoop
    private let engines = Lock<[Key: SocketIOEngine]>([:])

    init(loop: EventLoop) { self.loop = loop }

    /// Joins a link to the engine for its key, or to a new one when there is none that takes it.
    ///
    /// On the loop's thread.
    func join(_ link: SocketIOLink) {
        let key = link.key
        if link.configuration.isMultiplexed, let engine = self.engines.withLock({ $0[key] }), engine.join(link) {
            return
        }
        let engine = SocketIOEngine(key: key, request: link.request, engines: self)
        if link.configuration.isMultiplexed { self.engines.withLock { $0[key] = engine } }
        _ = engine.join(link)
        engine.open()
    }

    /// An engine takes no more links.
    func remove(_ engine: SocketIOEngine) {
        self.engines.withLock { engines in
            if engines[engine.key] === engine { engines[engine.key] = nil }
        }
    }
}
