#if Metrics && Tracing && ServiceLifecycle && OUTBOX && Encryption && (canImport(Combine) || OpenCombine)
#if canImport(Combine)
internal import Combine
#else
internal import OpenCombine
#endif
internal import Crypto
internal import Foundation
internal import LinkspanKit
internal import LinkspanReactive
internal import LinkspanDevServer
internal import LinkspanServices
internal import LinkspanNetwork
internal import LinkspanOutbox
internal import LinkspanEncryption
internal import LinkspanServiceLifecycle
internal import LinkspanTesting
internal import LinkspanTelemetry
internal import Logging
internal import ServiceLifecycle
internal import Synchronization
internal import Testing
internal import UnixSignals

// The examples of doc comments and catalogues, word for word. They are compiled, not run, unless they say so.

private struct Session: Sendable {
    func token(renewed: Bool) async throws -> (text: String, lifetime: Duration) { ("t0ken", .seconds(600)) }
}

private struct Keychain: Sendable {
    func outboxKey(_ id: UInt32?) throws -> (id: UInt32, data: Data) { (1, Data(count: 32)) }
}

private struct Move: Codable, Sendable {}

private func show(_ line: Line) {}
private func show(_ text: String) {}
private func show(_ message: Message) throws {}
private func show(_ entry: OutboxEntry) {}
private func reload(because reason: Continuity.Reason) {}
private func apply(_ payload: Payload) {}

@MainActor
final class StatusLine {
    private let model: ConnectionModel

    init(_ connection: ConnectionHandler) { self.model = ConnectionModel(connection) }

    var text: String {
        self.model.state == .connected
            ? "Online" : "Offline, \(self.model.waitingCommands) waiting"
    }
}

extension Event where Value == Arguments<Int, Int>, Reply == NoReply {
    static var move: Self { Event("move") }
}

private struct Inspection: Decodable, Sendable {
    var id: Int
}

private struct Report: Encodable, Sendable {}

private actor Device {
    func report() throws -> Report { Report() }
}

private actor Registry {
    func device(_ id: Int) -> Device? { nil }
}

extension Event where Value == Inspection, Reply == Report {
    fileprivate static var inspect: Self { Event("inspect") }
}

private enum CommentExamples {
    static func awaiting() async throws {
        let connection = try await ConnectionBuilder("https://chat.example")
            .transport(.socketIO).connect().connected(within: .seconds(10))
        _ = connection
    }

    static func batches(_ connection: ConnectionHandler, _ lines: [Line]) throws {
        try connection.batch { batch throws(LinkspanError) in
            for line in lines { try batch.send("line", line) }
            try batch.send("done")
        }
    }

    static func values(_ connection: ConnectionHandler, _ registry: Registry) async throws {
        try connection.send(.move, Arguments(10, 20))
        for await position in try connection.values(.move) {
            let (x, y) = try position.get().values
            show("\(x), \(y)")
        }
        try connection.send("filter", PayloadValue(json: #"{"price":{"$lt":100}}"#))
        try connection.answer(.inspect) { request in
            guard let device = await registry.device(request.id) else {
                throw LinkspanError(
                    .init(rawValue: "unknownDevice"), "there is no device \(request.id)")
            }
            return try await device.report()
        }
    }

    static func connections(token: String, kept: String?) async throws {
        do {
            let connection = try ConnectionBuilder("https://chat.example")
                .transport(.socketIO)
                .credentials(.fixed(Credentials(auth: ["token": token])))
                .connect()
            let kept = connection.status.resumption?.exposed  // before the process ends
            _ = kept
        }
        do {
            let connection = try ConnectionBuilder("https://chat.example")
                .transport(.socketIO)
                .resuming(kept.map { Secret($0) })
                .connect()
            let receipt = try await connection.request(.say, Line(text: "hello"))
            _ = receipt
        }
        do {
            let connection = try ConnectionBuilder("https://chat.example/admin")
                .transport(.socketIO).connect()
            _ = connection
        }
        do {
            let connection = try ConnectionBuilder("wss://feed.example")
                .transport(.webSocket).connect()
            _ = connection
        }
    }

    static func options(_ options: inout ConnectionOptions) {
        options.deliveries.replies = ReplyPolicy { reply in
            switch reply[0]?["error"]?["code"]?.string {
            case nil: .taken
            case "busy": .later
            default: .refused
            }
        }
    }

    static func credentials(_ session: Session, _ manager: ConnectionManager, plan: MessagingPlan) async {
        let source = CredentialSource.provider { request in
            let token = try await session.token(renewed: request.reason == .refused)
            return try Credentials(auth: ["token": token.text], validFor: token.lifetime)
        }
        _ = source
        await manager.logOut(plan.credentials)
    }

    static func tokens(_ session: Session, _ catalog: inout Catalog, _ plan: inout MessagingPlan) {
        let tokens = TokenSource { reason in
            let token = try await session.token(renewed: reason != .first)
            return Credentials(
                headers: [.init("Authorization", Secret("Bearer \(token.text)"))],
                validFor: token.lifetime)
        }
        catalog.add(.tokenRefresh(tokens))
        plan.credentials = tokens.credentials
    }

    static func listening(_ connection: ConnectionHandler) async throws {
        for await item in try connection.events("message").items {
            switch item {
            case .message(let message): try show(message)
            case .continuity(.continuous): ()
            case .continuity(.gap(let reason)): reload(because: reason)
            }
        }
    }

    static func quotes(_ connection: ConnectionHandler) async throws {
        for await item in try connection.values(.quoted, capacity: 16).marked() {
            switch item {
            case .message(let quote): print(try quote.get())
            case .continuity(.continuous): ()
            case .continuity(.gap(let reason)): reload(because: reason)
            }
        }
    }

    static func coders(_ connection: ConnectionHandler, _ message: Message, _ move: Move) throws {
        let coder = PayloadCoder(dates: .millisecondsSince1970, usesSnakeCase: true)
        let moved = Event<Move, NoReply>("move", coder: coder)
        try connection.send(moved, move)
        let answer = try message.payload.decode(Move.self, coder: coder)
        _ = answer
    }

    static func configuration(_ catalog: Catalog) async throws {
        do {
            let loader = ConfigurationLoader(catalog: catalog)
            let loaded = try loader.load(
                file: "chat.yaml",
                overrides: [
                    Override(path: "transport.adapter", value: "memory", origin: "--transport")
                ])
            _ = loaded
        }
        let loader = ConfigurationLoader(catalog: catalog)
        let sources = ConfigurationSources(file: "chat.yaml")
        let loaded = try loader.load(sources)
        let messaging = try await Messaging.start(loaded.plan)
        let reloader = ConfigurationReloader(loader, sources, running: loaded, on: messaging)
        await reloader.run { outcome in print(outcome) }
    }

    static func reloading(
        _ loader: ConfigurationLoader, _ sources: ConfigurationSources, _ loaded: LoadedPlan, _ messaging: Messaging,
        _ logger: Logger
    ) async {
        let reloader = ConfigurationReloader(loader, sources, running: loaded, on: messaging)
        await reloader.run { outcome in logger.notice("\(outcome)") }
    }

    static func events(_ registry: ServiceRegistry) throws {
        let (phases, phase) = AsyncStream.makeStream(of: AppEvent.self)
        try registry.register(phases.service(named: "app")).keep()
        phase.yield(.didBecomeActive)
    }

    static func catalog() {
        var catalog = Catalog()
        catalog.add(.socketIO)
        catalog.add(.logging())
        catalog.add(ServiceFactory("counter") { _ in CounterService() })
    }

    static func messaging(_ plan: MessagingPlan) async throws {
        let messaging = try await Messaging.start(plan)
        let connection = try await messaging.connect()
        try connection.send("hello")
        await messaging.stop()
    }

    static func scripts(_ scheduler: VirtualScheduler) {
        let transport = ScriptedTransport(scheduler: scheduler) { number in
            switch number {
            case 1: .refusing(LinkspanError(.connectionLost, "nobody listens"))
            case 2: .dropping(after: .seconds(3))
            default: .perfect
            }
        }
        _ = transport
    }

    static func numbers(seed: UInt64, handles: (Int) -> Bool) {
        var generator = SeededGenerator(seed: seed)
        let size = Int.random(in: 1...100, using: &generator)
        #expect(handles(size), "seed \(seed)")
    }

    static func keeperRules() {
        /// Has no connection to the archive at night.
        struct NightRule: KeeperRule {
            let isNight: @Sendable () -> Bool

            func decide(_ connection: KeptConnection) -> KeeperAction? {
                guard connection.url.host == "archive.example" else { return nil }
                guard !self.isNight() else {
                    return connection.state == .connected ? .disconnect : .keep
                }
                return connection.state == .disconnected ? .connect : nil
            }
        }

        let manager = ConnectionManager(
            options: .init { $0.rules.insert(NightRule { false }, at: 0) })
        _ = manager
    }

    static func retryPolicies() {
        let policy = RetryPolicy.backoff(limit: 3)
        let lost = LinkspanError(.connectionLost, "lost")
        #expect(policy.delay(for: RetryQuestion(error: lost, failures: 4)) == nil)
    }

    static func publishers(_ connection: ConnectionHandler) {
        do {
            let lines = connection.publisher(for: "message")
                .compactMap { try? $0.decode(Line.self) }
                .sink { show($0) }
            lines.cancel()
        }
        let lines = connection.publisher(for: "line")
        let states = connection.statePublisher
        _ = (lines, states)
    }

    static func groups(_ plan: MessagingPlan, _ registry: ServiceRegistry, _ logger: Logger) async throws {
        let messaging = MessagingService(plan) { messaging, connection in
            try connection.on("news") { message in print(message.payload) }
        }
        let group = ServiceGroup(
            services: [messaging], gracefulShutdownSignals: [.sigterm], logger: logger)
        try await group.run()
        do {
            let group = ServiceGroup(
                services: [RegistryService(registry)], gracefulShutdownSignals: [.sigterm],
                logger: logger)
            try await group.run()
        }
    }

    static func outbox(
        _ folder: String, _ url: String, _ credentials: Credentials, _ manager: ConnectionManager,
        _ catalog: inout Catalog
    ) async throws {
        catalog.add(.outbox)
        let outbox = Outbox(path: folder + "/outbox.sqlite")
        let handler = try ConnectionBuilder(url).transport(.socketIO)
            .credentials(.fixed(credentials, account: "ann"))
            .options { $0.store = outbox }
            .connect(by: manager)
        let key = try await handler.enqueue("say", "hello")
        _ = key
    }

    static func outcomes(_ outbox: Outbox, _ handler: ConnectionHandler) async throws {
        do {
            for try await entry in outbox.outcomes(account: "ann") {
                show(entry)
                try await outbox.confirm(entry)
            }
        }
        try outbox.record("line", of: handler, account: "ann")
        for try await entry in outbox.received(account: "ann") {
            if case .message(let message) = entry.item { try show(message) }
            try await outbox.confirm(entry)
        }
    }

    static func sealing(_ path: String, _ keychain: Keychain) {
        let outbox = Outbox(path: path) {
            $0.cipher = AESGCMCipher { id in
                let entry = try keychain.outboxKey(id)
                return (entry.id, SymmetricKey(data: entry.data))
            }
        }
        _ = outbox
    }

    static func closing() {
        var configuration = WebSocketConfiguration()
        configuration.closeMeanings = [4000...4099: .stop, 4007...4007: .credentialsRefused]
        configuration.closeMeanings[1001] = .stop
    }

    static func tls() {
        let configuration = WebSocketConfiguration {
            $0.tls = TLSPolicy(roots: .file("/etc/ca.pem"))
        }
        _ = configuration
    }

    static func hubs() async throws {
        do {
            let hub = InMemoryHub()
            hub.onConnect { peer in
                peer.join("lobby")
                peer.on("say") { message in
                    hub.emit("message", message.payload, to: "lobby", except: peer)
                    message.reply(.empty)
                }
            }
            let transport = InMemoryTransport(hub: hub)
            _ = transport
        }
        do {
            let hub = InMemoryHub()
            hub.onConnect { peer in
                peer.onDelivery("say") { message in
                    apply(message.payload)
                    return .empty
                }
            }
        }
        let hub = InMemoryHub()
        hub.onConnect { peer in
            peer.on("say") { message in
                hub.emit("message", message.payload)
                message.reply(.empty)
            }
        }
        let server = DevServer(hub: hub)
        try await server.start()
        let plan = MessagingPlan(url: server.socketIOURL, transport: .socketIO)
        _ = plan
    }
}

private enum Faults {
    static func examples(_ server: DevServer, _ manager: ConnectionManager) async throws {
        let proxy = try FaultProxy(to: "127.0.0.1", port: server.port, seed: 7) {
            $0.delay = .milliseconds(20)
            $0.loss = 0.01
        }
        let connection = try ConnectionBuilder("http://127.0.0.1:\(proxy.port)")
            .transport(.socketIO).connect(by: manager)
        try await connection.connected()
        proxy.use(.init { ($0.cut, $0.ending) = (0, .reset) })
        let outage = FaultProfile([
            .init { ($0.delay, $0.loss) = (.milliseconds(40), 0.01) },
            .init(at: .seconds(30)) { ($0.cut, $0.ending) = (0, .reset) },
            .init(at: .seconds(45)),
        ])
        _ = outage
    }
}

private final class CounterService: LifecycleService {
    let name: ServiceName = "counter"
}

private struct UploadEvent: LifecycleEvent {
    static var family: EventFamily<Self, any UploadObserving> {
        .news("upload") { try await $0.on($1, $2) }
    }
    var file: String
    var isComplete: Bool
}

private protocol UploadObserving: LifecycleService {
    func on(_ event: Stamped<UploadEvent>, _ scope: ServiceScope) async throws
}

@MainActor
private final class Screen {
    private var quote: Line?
    private var state: ConnectionState?

    func follow(_ connection: ConnectionHandler) throws {
        try connection.values(.quoted, capacity: 100).onEach { self.quote = try? $0.get() }
        connection.stateChanges.onEach { self.state = $0.to }
    }
}

extension Event where Value == Line, Reply == NoReply {
    fileprivate static var quoted: Self { Event("quote") }
}

struct TickerProtocol: MessageProtocol {
    let name = "ticker"
    let symbols: [String]

    func begin(_ start: SessionStart) throws(LinkspanError) -> [WebSocketMessage] {
        [.text(try Payload(["subscribe": self.symbols]).elements)]
    }

    func decode(text: ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
        let message = try Payload(checking: text)[0]
        if let ping = message?["ping"] {
            return DecodedEnvelope(
                [], answers: [.text(try Payload(["pong": ping]).elements)])
        }
        let trades = message?["trades"]?.elements ?? []
        return DecodedEnvelope(
            try trades.map { trade throws(LinkspanError) in
                .event(name: "trade", payload: try Payload(trade), id: nil)
            })
    }

    func decode(binary: ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
        DecodedEnvelope([])
    }
    func encode(
        _ envelope: Envelope, to buffer: inout [UInt8]
    ) throws(LinkspanError) -> EncodedKind {
        throw LinkspanError(.encodingFailed, "the feed takes no messages")
    }
}

extension CommentExamples {
    fileprivate static func codecs() {
        var catalog = Catalog()
        catalog.add(.webSocket(protocols: ["ticker": TickerProtocol(symbols: ["BTC"])]))
    }
}

struct LineProtocol: MessageProtocol {
    let name = "lines"

    func encode(
        _ envelope: Envelope, to buffer: inout [UInt8]
    ) throws(LinkspanError) -> EncodedKind {
        switch envelope {
        case .event(let name, let payload, let id):
            let number = id.map { " #\($0)" } ?? ""
            buffer.append(
                contentsOf: "\(name)\(number): \(try Self.text(payload))".utf8)
        case .reply(let id, let payload):
            buffer.append(contentsOf: "#\(id): \(try Self.text(payload))".utf8)
        }
        return .text
    }

    func begin(_ start: SessionStart) throws(LinkspanError) -> [WebSocketMessage] {
        guard let auth = start.credentials.auth else { return [] }
        return [.text(Array("auth: \(try Self.text(auth))".utf8)[...])]
    }

    func decode(text: ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
        let parts = String(decoding: text, as: UTF8.self).split(
            separator: ": ", maxSplits: 1)
        guard parts.count == 2 else {
            throw LinkspanError(.protocolViolation, "a line has no colon")
        }
        let payload = try Payload(String(parts[1]))
        guard let mark = parts[0].firstIndex(of: "#") else {
            return DecodedEnvelope(
                .event(name: String(parts[0]), payload: payload, id: nil))
        }
        guard let id = UInt64(parts[0][mark...].dropFirst()) else {
            throw LinkspanError(
                .protocolViolation, "a line has an id that is not a number")
        }
        let name = String(parts[0][..<mark].prefix { $0 != " " })
        return DecodedEnvelope(
            name.isEmpty
                ? .reply(id: id, payload: payload)
                : .event(name: name, payload: payload, id: id))
    }

    func decode(binary: ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
        throw LinkspanError(
            .protocolViolation, "a binary message where only lines are expected")
    }

    private static func text(_ payload: Payload) throws(LinkspanError) -> String {
        guard
            let text = payload[0]?.string, payload[1] == nil, !text.contains("\n")
        else {
            throw LinkspanError(
                .encodingFailed, "a line has one string, without a line break")
        }
        return text
    }
}

/// The server's side of lines.
struct LinePeer: MessageProtocolPeer {
    let language: any MessageProtocol = LineProtocol()
    let payload: Payload

    init() throws { self.payload = try Payload("64000") }

    func read(_ message: WebSocketMessage) throws -> [PeerAction] {
        guard case .text(let bytes) = message,
            let line = String(decoding: bytes, as: UTF8.self)
                .wholeMatch(of: /(\w*) ?(?:#(\d+))?: (.*)/)
        else { return [] }
        let (payload, mark) = (try Payload(String(line.3)), line.2.map(String.init))
        guard line.1.isEmpty, let mark else {
            return [.event(String(line.1), payload, mark: mark)]
        }
        return [.reply(mark: mark, payload)]
    }

    func write(_ action: PeerAction) -> [WebSocketMessage]? {
        let line: String
        switch action {
        case .event(let name, let payload, let mark):
            let number = mark.map { " #\($0)" } ?? ""
            line = "\(name)\(number): \(payload[0]?.string ?? "")"
        case .reply(let mark, let payload):
            line = "#\(mark): \(payload[0]?.string ?? "")"
        default: return nil
        }
        return [.text(Array(line.utf8)[...])]
    }
}

/// The article about protocols of servers.
@Suite("Speak your server's protocol")
struct YourProtocolExample {
    @Test(arguments: MessageProtocolConformance.Check.allCases)
    func `lines conform`(check: MessageProtocolConformance.Check) throws {
        try MessageProtocolConformance.run(check, over: LinePeer())
    }

    func arguments(_ array: PayloadValue) throws(LinkspanError) -> Payload {
        // Without the brackets.
        try Payload(checking: Payload(array).elements.dropFirst().dropLast())
    }

    @Test
    func `the elements of an array become arguments`() throws {
        let two = try #require(try Payload(["list": ["a, b", "c"]])[0]?["list"])
        #expect(try self.arguments(two).values.map(\.string) == ["a, b", "c"])
        let none = try #require(try Payload(checking: Array("[ ]".utf8)[...])[0])
        #expect(try self.arguments(none)[0] == nil)
    }

    /// Compiled, not run: there is no such server.
    private func use() async throws -> String {
        let configuration = WebSocketConfiguration { $0.protocol = LineProtocol() }
        let connection = try ConnectionBuilder("wss://feed.example")
            .transport(.webSocket(configuration)).connect()
        let price = try await connection.request("price", "BTC").decode(String.self)
        return price
    }
}

/// The examples of catalogues that need no network.
@Suite("The catalogues", .timeLimit(.minutes(1)))
struct CatalogueExamples {
    @Test
    func `a hub in the process answers a request`() async throws {
        let hub = InMemoryHub()
        hub.onConnect { peer in peer.on("echo") { $0.reply($0.payload) } }
        let connection = try ConnectionBuilder("memory://lobby")
            .transport(.inMemory(hub)).connect()
        let answer = try await connection.request("echo", "hello").decode(String.self)
        #expect(answer == "hello")
        connection.release()
    }

    @Test
    func `a development server answers a request over Socket.IO`() async throws {
        let hub = InMemoryHub()
        hub.onConnect { peer in peer.on("echo") { $0.reply($0.payload) } }
        let server = DevServer(hub: hub)
        try await server.start()
        let connection = try ConnectionBuilder(server.socketIOURL)
            .transport(.socketIO).connect()
        #expect(try await connection.request("echo", "hello").decode(String.self) == "hello")
        connection.release()
        await server.stop()
    }
}
#endif
