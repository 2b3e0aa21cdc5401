#if canImport(Combine) || OpenCombine
internal import LinkspanCombine
#endif
#if LWS
internal import LinkspanLWS
#endif
#if ServiceLifecycle
internal import LinkspanServiceLifecycle
#endif
#if Tracing
internal import LinkspanTracing
#endif
internal import Linkspan
internal import LinkspanConfiguration
internal import LinkspanInMemory
internal import LinkspanLifecycle
internal import LinkspanLogging
internal import LinkspanMessaging
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanTesting
internal import LinkspanWebSocket
internal import LinkspanWebSocketProtocol
internal import Testing

// The example of the article on migration, word for word. The replacements that it has in its tables alone follow; they
// are compiled, not run.

func feature(
    _ connection: any Connection, _ handler: ConnectionHandler,
    _ manager: ConnectionManager
) async throws {
    let status = connection.status
    print(
        status.url, status.state, status.progress, status.waitingCommands,
        status.resumption as Any)
    print(connection.explain(), status.description, status.url.description)
    try connection.send("cursor", 3, volatile: true)
    try connection.on("line") { print($0.event) }
    let attempts = connection.onStatusChange { change in
        if case .progress(.waiting(let until, let attempt)) = change {
            print("attempt \(attempt) at \(until)")
        }
    }
    try await connection.deliver("line", "hello", orderingKey: "room 1")
    let receipt = try await connection.enqueue(
        "line", "hello again", orderingKey: "room 1", key: "line 2")
    print(receipt.key)
    let outgoing = try handler.onAnyOutgoing { print($0.event) }
    for (status, holders) in manager.statistics { print(status, holders) }
    let source = CredentialSource.provider(account: "ann") { request in
        Credentials(
            auth: try Payload(request.url.host),
            headers: [Credentials.Field("X-Client", "7")])
    }
    let kept = status.resumption?.exposed
    let next = try ConnectionBuilder("ws://chat.example.com")
        .transport(.webSocket).credentials(source)
        .resuming(kept.map { Secret($0) })
        .options {
            $0.idleTimeout = .seconds(5)
            $0.buffer.commands = 100
            $0.retry = RetryPolicy { $0.failures < 3 ? .seconds(1) : nil }
        }
        .build()
    try manager.move(handler, to: next)
    await manager.logOut(source)
    var options = ConnectionOptions()
    options.deliveries.keyPlacement = .lastArgument
    let commands = await handler.commands
    print(commands.map(\.stage), RetryPolicy.backoff(cap: .seconds(60)), options)
    for subscription in [attempts, outgoing] { subscription.cancel() }
    handler.off("line")
}

// MARK: - The tables

/// A provider as apps wrote one for the former API.
private protocol Provider: Sendable {
    func credentials(for request: CredentialRequest) async throws -> Credentials
}

/// An event of an app's own, in place of `PressureEvent.disk`.
private struct DiskEvent: LifecycleEvent {
    static var family: EventFamily<Self, any DiskObserving> {
        .states("disk", retention: { _ in .keep(subject: "disk") }) { try await $0.on($1, $2) }
    }
    var free: UInt64
}

private protocol DiskObserving: LifecycleService {
    func on(_ event: Stamped<DiskEvent>, _ scope: ServiceScope) async throws
}

/// A question of an app's own, in place of the one of `ReconnectDeciding`.
private protocol Deciding: LifecycleService {
    func decide() async throws -> Verdict
}

/// The right columns of the tables, in their order.
private enum Replacements {
    static func listening(_ connection: any Connection, _ url: ConnectionURL) async throws {
        let subscription = try connection.subscribe(
            to: "line", once: false, onMark: { print($0) }, { print($0.event) })
        subscription.cancel()
        let messages: EventStream<(message: Message, missed: Int)> = try connection.events(
            "line", overflow: StreamOverflow.dropNewest)
        let items: EventStream<EventItem> = messages.items
        for await item in items { print(item) }
        for await (message, missed) in messages { print(message.event, missed) }
        let states: AsyncStream<StateChange> = connection.stateChanges
        for await change in states { print("\(change.to)") }
        let status = ConnectionStatus(url: url, state: connection.state, progress: .idle)
        print(status.url.scheme, status.description)
    }

    static func areEqual(_ event: Event<Int, NoReply>, _ other: Event<Int, NoReply>) -> Bool {
        event.name == other.name
    }

    #if Tracing
    static func traced(_ connection: any Connection) -> TracedConnection { connection.traced() }
    #endif

    #if canImport(Combine) || OpenCombine
    static func publish(_ connection: any Connection) {
        let messages: ConnectionPublisher<Message> = connection.publisher(for: "line")
        let states: ConnectionPublisher<ConnectionState> = connection.statePublisher
        print(messages, states)
    }
    #endif

    // MARK: Commands and deliveries

    static func commands(_ connection: any Connection, _ handler: ConnectionHandler, _ text: String) async throws {
        let kind = Command.Kind.deliver(orderingKey: "room 1")
        let command = try Command(kind, event: "line", payload: Payload(text))
        try connection.perform(command.observed(by: { print($0) }))
        print(command.stage == Command.Stage.waiting, command.payload.byteCount)
        handler.cancelCommands(where: { $0.stage == .waiting })
        let receipt = try await connection.enqueue(
            "line", text, orderingKey: "room 1", key: "line 2", timeout: .seconds(5), compress: false)
        print(receipt.key, try await connection.outcome(of: DeliveryReceipt(key: "line 2")))
        try connection.send("filter", PayloadValue(json: text))
        let size = Event<Int, NoReply>("size", coder: PayloadCoder(dates: .deferred, usesFoundation: true))
        try connection.send(size, 3)
        do throws(LinkspanError) {
            print(try Payload(checking: Array(text.utf8)[...]))
        } catch {
            print(error.code == .decodingFailed, error.code == .bufferFull, error.code == .notKept)
        }
    }

    static func keep(in store: any DeliveryStore) {
        let delivery = StoredDelivery(key: "line 2", orderingKey: "room 1", event: "line", payload: .empty)
        store.load(account: nil, after: 0, rows: 1, bytes: 1_024) { print($0) }
        store.keep(delivery) { print($0) }
        store.end(delivery) { print(delivery.orderingKey) }
    }

    // MARK: Credentials and attempts to connect

    static func credentials(_ myProvider: some Provider, _ secret: Secret) -> CredentialSource {
        print(Credentials(), secret == Secret(secret.exposed))
        return .provider { try await myProvider.credentials(for: $0) }
    }

    static func retries(_ policy: RetryPolicy) -> ConnectionOptions {
        let other = RetryPolicy { _ in .seconds(1) }
        print(policy.description == other.description)
        return ConnectionOptions {
            $0.retry = RetryPolicy.backoff(cap: .seconds(60))
            $0.greeting = Greeting("hello", deadline: .seconds(5)) { try $0.send("hello") }
        }
    }

    static func delay(_ question: RetryQuestion) -> Duration? { question.failures < 3 ? .seconds(1) : nil }

    static func verdict(_ registry: ServiceRegistry) async -> Verdict {
        await registry.ask(
            (any Deciding).self, merging: .veto, onFault: { _, reason in .veto(reason) },
            { responder, _ in try await responder.decide() })
    }

    // MARK: Managers, plans and configurations

    static func managers(
        _ manager: ConnectionManager, _ handler: ConnectionHandler, _ transport: any Transport,
        services: ServiceRegistry
    ) throws -> [ConnectionManager] {
        let options = ConnectionManager.Options {
            $0.backgroundIdleTimeout = .seconds(60)
            $0.attempts.perSecond = 5
        }
        let next = try ConnectionBuilder("ws://chat.example.com").transport(transport).build()
        try manager.move(handler, to: next)
        try manager.adjust(handler, ConnectionOptions { $0.idleTimeout = .seconds(60) })
        return [
            ConnectionManager(options: .init { $0.scheduler = SystemScheduler.shared }),
            ConnectionManager(options: options, services: services),
        ]
    }

    static func take(_ connection: any ManagedConnection, _ service: any ConnectionUsing) throws {
        try service.use(connection)
        connection.end(nil)
    }

    static func start(_ plan: MessagingPlan, _ services: [PlannedService]) async throws -> Messaging {
        var plan = plan
        plan.services = services
        let order = try StartOrder(services.map { ($0.service, $0.settings) })
        for step in order.waves.joined() { print(step.name, step.needs) }
        return try await Messaging.start(plan, connections: .init(), services: .init { $0.isSequential = true })
    }

    #if ServiceLifecycle
    static func service(_ plan: MessagingPlan) -> MessagingService {
        MessagingService(plan, connections: .init(), services: .init())
    }
    #endif

    static func options(_ values: OptionValues) -> PluginOption {
        let level: String? = values["level"]
        let size: Int? = values["size"]
        print(level ?? "", size ?? 0, OptionValues() == OptionValues(["size": 3]))
        return PluginOption("size", .number(1...9), isHot: true, "The size.")
    }

    static func configuration(
        _ setting: Setting, _ difference: PlanDifference, _ reloader: ConfigurationReloader, _ service: LoggingService
    ) async {
        print(setting.reload == "hot", difference.description)
        print(await reloader.running, await service.families)
    }

    // MARK: Services and events

    static func received(_ event: any LifecycleEvent) {
        if let event = event as? AppEvent { print(AppEvent.familyName, event) }
    }

    static func received(_ stamped: Stamped<any LifecycleEvent>) { Self.received(stamped.event) }

    static func kind(_ event: AuthenticationEvent) -> AuthenticationEvent.Kind { event.kind }

    static func emit(to registry: ServiceRegistry) {
        registry.emit(AuthenticationEvent(kind: .revoked))
        registry.emit(BufferEvent(connection: 1, depth: 2, limit: 3, kind: .highWater))
        registry.emit(FaultEvent(path: "app", code: .handlerFailed, message: "disk full", severity: .warning))
        registry.emit(DiskEvent(free: 0))
        print(registry.hasAudience(for: MessageEvent.self), registry.hasAudience(for: AppEvent.self))
    }

    static func follow(_ manager: ConnectionManager) async throws {
        let (stream, continuation) = AsyncStream<AppEvent>.makeStream()
        let event = AppEvent.didBecomeActive
        continuation.yield(event)
        try await manager.follow(stream)
    }

    static func registry(_ scheduler: any Scheduler) -> ServiceRegistry {
        ServiceRegistry(
            options: .init {
                $0.scheduler = scheduler
                $0.batchDelay = .zero
            })
    }

    static func reasons(_ error: RegistryError) -> String { "\(error.problems) \(String(describing: error.report))" }

    // MARK: Transports and networks

    static func schedule(_ scheduler: any Scheduler, _ transport: some Transport, after delay: Duration) {
        let executor = SystemScheduler.makeExecutor(label: "own")
        executor.schedule(at: .now + delay) { print("due") }
        let work: any ScheduledWork = scheduler.schedule(at: .now + delay, on: transport.executor) { print("due") }
        work.cancel()
    }

    static func send(_ message: OutboundMessage, over link: any Link) {
        link.setReadingPaused(true)
        let acceptance: SendAcceptance = link.reply(to: 1, with: message.payload)
        if case .refused = acceptance { print(link.send(message)) }
    }

    static func envelopes(_ decoded: DecodedEnvelope) -> [Envelope] { decoded.envelopes }

    static func transport(pinning digest: [UInt8]) -> WebSocketTransport {
        var configuration = WebSocketTransport.Configuration { $0.maximumMessageBytes = 1 << 20 }
        configuration.tls = TLSPolicy(
            roots: TLSPolicy.Roots.file("ca.pem"),
            clientCertificate: ClientCertificate(.file("me.pem"), key: .file("key.pem")),
            minimumVersion: TLSPolicy.Version.tls13)
        if let pin = PublicKeyPin(digest: digest) { configuration.tls.pins = [pin] }
        configuration.proxy = NetworkProxy(host: "proxy.example.com", port: 3_128, user: "ann", password: Secret("…"))
        configuration.compression = WebSocketCompression {
            $0.clientMaxWindowBits = 12
            $0.serverMaxWindowBits = 12
            $0.clientNoContextTakeover = true
            $0.serverNoContextTakeover = true
        }
        return WebSocketTransport(configuration)
    }

    static func reason(_ error: ByteStreamError) -> TLSFailure? {
        error.code == ByteStreamError.Code.tls(.expired) ? .expired : error.code.tlsFailure
    }

    static func read(
        _ stream: any ByteStream, _ handler: any ByteStreamHandler, _ exchange: HTTPExchange, _ head: ResponseHead
    ) {
        stream.setReadingPaused(true)
        exchange.setReadingPaused(true)
        handler.opened(head)
        handler.received([1, 2])
    }

    static func listen(on loop: any NetworkLoop) throws {
        let listener: any ByteListener = try loop.listen(ListenRequest(port: 0)) { _ in nil }
        listener.close { print("closed") }
    }

    static func connect(on loop: any NetworkLoop, _ request: UpgradeRequest) async -> Bool {
        await loop.perform { loop.isCurrent && request.isSecure }
    }

    #if LWS
    static func loop() -> EventLoop { EventLoop(name: "own", idleLimit: .seconds(10), log: { print($0, $1) }) }
    #endif

    // MARK: Tests

    static func time() async -> LinkScript {
        let clock = VirtualScheduler()
        await clock.run { clock.pendingCount == 2 }
        return LinkScript { $0.isHalfOpenAfter = .zero }
    }
}

@Suite("The article on migration", .timeLimit(.minutes(1)))
struct MigrationExample {
    @Test
    func `the replacements of former API work`() async throws {
        let manager = ConnectionManager(options: .init { $0.attempts.spacing = .zero })
        let hub = InMemoryHub()
        hub.onConnect { peer in peer.on("line") { $0.reply($0.payload) } }
        let handler = try ConnectionBuilder("memory://migration").transport(.inMemory(hub)).connect(by: manager)
        try await feature(handler, handler, manager)
        #expect(handler.state == .released, "its user has been logged out")
        await manager.shutdown()
    }
}
