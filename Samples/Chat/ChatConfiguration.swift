import Foundation
import Linkspan
import LinkspanMessaging
import LinkspanConfiguration
import LinkspanInMemory
import LinkspanInspector
import LinkspanServices
import LinkspanOutbox
import LinkspanSocketIO
import LinkspanWebSocket
import Logging

/// Which transport, which endpoint, which services: from a file, the environment and the command line.
@available(macOS 15, *)
struct ChatConfiguration {
    /// The configuration file, when one was named.
    var file: String?
    /// What `--transport` says.
    var transport: String?
    /// What `--protocol` says.
    var messages: String?
    /// What `--url` says.
    var url: String?
    /// What `--network` says.
    var network: String?
    /// What `--outbox` says.
    var outbox: String?
    /// The server of the session so far, for a transport that names none.
    var server: String?
    /// The chat inside this process, which is one however often the configuration is read.
    private let chat = ChatHub()
    #if OUTBOX
    /// Knows the outbox that it has made, for each further reading of the configuration.
    private let outboxFactory = OutboxFactory.outbox
    #endif

    init(
        file: String? = nil, transport: String? = nil, messages: String? = nil, url: String? = nil,
        network: String? = nil
    ) {
        self.file = file
        self.transport = transport
        self.messages = messages
        self.url = url
        self.network = network
    }

    /// The same with the file that `--outbox` names.
    func with(outbox: String?) -> Self {
        var configuration = self
        configuration.outbox = outbox
        return configuration
    }

    /// Makes the plan for a visitor.
    func load(for visitor: Visitor, _ news: ChatNews) throws(ConfigurationError) -> LoadedPlan {
        var loaded = try self.loader(for: visitor, news).load(self.sources)
        loaded.plan.credentials = visitor.credentials
        return loaded
    }

    /// Reads the configuration of a visitor.
    func loader(for visitor: Visitor, _ news: ChatNews) -> ConfigurationLoader {
        ConfigurationLoader(catalog: self.catalog(for: visitor, news))
    }

    /// Where the configuration comes from.
    var sources: ConfigurationSources {
        ConfigurationSources(file: self.file, overrides: self.overrides, defaults: self.defaults + self.fallbacks)
    }

    /// What may be named in the configuration.
    ///
    /// An app adds its own transports and services here.
    private func catalog(for visitor: Visitor, _ news: ChatNews) -> Catalog {
        var logger = Logger(label: "chat") { StreamLogHandler.standardError(label: $0) }
        // Which lines are written is the service's option.
        logger.logLevel = .trace
        var catalog = Catalog()
        catalog.add(.inMemory(self.chat.hub))
        catalog.add(.socketIO)
        catalog.add(.webSocket(protocols: ["mqtt": BrokerRooms.mqtt, "nats": BrokerRooms.nats]))
        #if OUTBOX
        catalog.add(self.outboxFactory)
        #endif
        catalog.add(.logging(logger: logger))
        catalog.add(.inspector)
        catalog.addFeatures(for: visitor, news)
        catalog.add(.interface)
        return catalog
    }

    /// What holds when nobody says otherwise.
    private var defaults: [Override] {
        // The scheme of `--url` says the transport when nothing else does.
        let adapters = ["ws": "websocket", "wss": "websocket", "http": "socketio", "https": "socketio"]
        let adapter = self.url?.split(separator: ":").first.flatMap { adapters[$0.lowercased()] }
        return [
            Override(
                path: "transport.adapter", value: adapter ?? "memory", origin: adapter.map { _ in "--url" } ?? "default"
            ),
            Override(path: "transport.memory.url", value: "memory://lobby", origin: "default"),
            Override(
                path: "services.enabled", value: "logging,rooms,presence,topics,direct,typing,interface",
                origin: "default"),
            // A server or broker that has failed over is back within seconds, and knows a line that comes again.
            Override(path: "connection.deliveryRepeatAfter", value: "5", origin: "default"),
            // Failures are shown in the conversation.
            Override(path: "services.logging.level", value: "error", origin: "default"),
        ]
    }

    /// One server, whatever the transport: Socket.IO and raw WebSocket take the same URLs.
    private var fallbacks: [Override] {
        guard let server = self.server else { return [] }
        return ["socketio", "websocket"].map {
            Override(path: "transport.\($0).url", value: server, origin: "the session")
        }
    }

    /// What the flags say.
    private var overrides: [Override] {
        let flags = [
            ("transport.adapter", self.transport, "--transport"), ("transport.url", self.url, "--url"),
            ("transport.websocket.protocol", self.messages, "--protocol"),
            ("transport.socketio.network", self.network, "--network"),
            ("transport.websocket.network", self.network, "--network"), ("outbox.path", self.outbox, "--outbox"),
        ]
        return flags.compactMap { path, value, origin in value.map { Override(path: path, value: $0, origin: origin) } }
    }
}
