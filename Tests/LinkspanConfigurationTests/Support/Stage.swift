internal import Linkspan
internal import LinkspanTesting
internal import LinkspanConfiguration
internal import LinkspanInMemory
internal import LinkspanLifecycle
internal import LinkspanMessaging
internal import LinkspanRuntime
internal import LinkspanServices

/// Two servers in the process, a catalog whose services keep a journal, and configurations as text.
final class Stage: Sendable {
    private struct State: Sendable {
        var journal: [String] = []
        var failing: Set<String> = []
        var heard: [String: [Int]] = [:]
        var connects: [String: Int] = [:]
    }

    let hubs = ["first": InMemoryHub(executor: TestExecutor()), "second": InMemoryHub(executor: TestExecutor())]
    private let state = Lock(State())

    init() {
        for (name, hub) in self.hubs {
            hub.onConnect { peer throws(LinkspanError) in
                self.state.withLock { $0.connects[name, default: 0] += 1 }
                peer.on("say") { message in
                    let number = (try? message.payload.decode(Int.self)) ?? -1
                    self.state.withLock { $0.heard[name, default: []].append(number) }
                    message.reply(.empty)
                }
            }
        }
    }

    /// What the services did, in order.
    var journal: [String] { self.state.withLock { $0.journal } }

    func clear() { self.state.withLock { $0.journal = [] } }

    /// What a server was told.
    func heard(by server: String) -> [Int] { self.state.withLock { $0.heard[server] ?? [] } }

    /// How often a server was connected to.
    func connects(to server: String) -> Int { self.state.withLock { $0.connects[server] ?? 0 } }

    /// Has the steps with these names throw, such as `start presence`.
    func fail(_ steps: String...) { self.state.withLock { $0.failing = Set(steps) } }

    func note(_ step: String, _ detail: String = "") throws {
        let fails = self.state.withLock { state in
            state.journal.append(step + detail)
            return state.failing.contains(step)
        }
        if fails { throw LinkspanError(.unsupported, "\(step) is told to fail") }
    }
}

extension Stage {
    func catalog() -> Catalog {
        var catalog = Catalog()
        for (name, hub) in self.hubs {
            // A transport cannot be told of a change, whatever it says.
            let option = PluginOption("pace", .number(1...9), fallback: "1", isHot: true, "How fast.")
            catalog.add(
                TransportFactory(name, schemes: [name], options: [option]) { values in
                    HubTransport(name: name, pace: values["pace"] ?? 1, transport: InMemoryTransport(hub: hub))
                })
        }
        let options = [
            PluginOption(
                "size", .number(1...99), fallback: "1", "Not to be changed while it runs."),
            PluginOption("mood", .text, fallback: "calm", isHot: true, "May be changed at any time."),
        ]
        for name in ["rooms", "metrics", "history"] {
            catalog.add(
                ServiceFactory(name, options: options) {
                    JournalService(name: name, values: $0, stage: self)
                } reconfigure: {
                    try await $0.reconfigure($1)
                })
        }
        catalog.add(
            ServiceFactory("presence", options: options) {
                JournalService(name: "presence", values: $0, stage: self, needs: ["rooms"])
            } reconfigure: {
                try await $0.reconfigure($1)
            })
        catalog.add(
            ServiceFactory("typed", defaults: TypedOptions(), hot: ["rate"]) { _ in
                TypedService(stage: self)
            } reconfigure: {
                try $0.take($1)
            })
        catalog.add(ServiceFactory("plain", options: options) { PlainService(values: $0) })
        catalog.add(ServiceFactory("talker") { _ in TalkingService(stage: self) })
        catalog.add(.logging())
        return catalog
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    func load(_ changes: [String: String] = [:]) throws -> LoadedPlan {
        var values = [
            "LINKSPAN_TRANSPORT_ADAPTER": "first", "LINKSPAN_TRANSPORT_FIRST_URL": "first://lobby",
            "LINKSPAN_TRANSPORT_SECOND_URL": "second://lobby", "LINKSPAN_SERVICES_ENABLED": "rooms,presence",
        ]
        values.merge(changes) { $1 }
        return try ConfigurationLoader(catalog: self.catalog()).load(environment: values)
    }

    /// Runs the usual plan, and what `body` does with it.
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    func run(
        _ changes: [String: String] = [:], _ body: (Messaging, LoadedPlan) async throws -> Void
    ) async throws {
        let plan = try self.load(changes)
        let messaging = try await Messaging.start(plan.plan)
        self.clear()
        do {
            try await body(messaging, plan)
        } catch {
            await messaging.stop()
            throw error
        }
        await messaging.stop()
    }
}

/// A hub's transport under another name and with an option.
struct HubTransport: Transport {
    let name: String
    let pace: Int
    let transport: InMemoryTransport

    var executor: any JobExecutor { self.transport.executor }
    var schemes: Set<String> { [self.name] }
    var options: [String: String] { ["pace": "\(self.pace)"] }

    func makeLink(_ request: LinkRequest, receiver: any LinkReceiver) -> any Link {
        self.transport.makeLink(request, receiver: receiver)
    }
}

extension Budgets {
    /// More time than any machine needs, however busy.
    static let generous = Budgets(
        start: .seconds(50), handle: .seconds(50), quiesce: .seconds(50), stop: .seconds(50))
}

/// A service that writes down what is done with it.
final class JournalService: LifecycleService {
    let name: ServiceName
    let placement: Placement
    let budgets = Budgets.generous
    private let stage: Stage
    private let values: Lock<OptionValues>

    init(name: String, values: OptionValues, stage: Stage, needs: [ServiceName] = []) {
        self.name = ServiceName(rawValue: name)
        self.placement = Placement(needs: needs.map { .hard($0) })
        self.stage = stage
        self.values = Lock(values)
    }

    private func note(_ step: String) throws {
        let (size, mood) = self.values.withLock { ($0["size"] ?? 1, $0["mood"] ?? "calm") }
        try self.stage.note("\(step) \(self.name)", " \(size) \(mood)")
    }

    func start(_ scope: ServiceScope) async throws { try self.note("start") }

    func stop(_ scope: ServiceScope) async throws { try self.note("stop") }

    func reconfigure(_ options: OptionValues) async throws {
        self.values.withLock { $0 = options }
        try self.note("change")
    }
}

/// A service that takes nothing over, whatever its options say.
struct PlainService: LifecycleService {
    let name: ServiceName = "plain"
    let values: OptionValues
}

struct TypedOptions: Decodable, Sendable {
    var rate = 2.5
    var rooms = ["lobby"]
}

/// A service whose options are a type.
struct TypedService: LifecycleService {
    let name: ServiceName = "typed"
    let stage: Stage

    func take(_ options: TypedOptions) throws {
        try self.stage.note("change typed", " \(options.rate) \(options.rooms)")
    }
}

/// A service that talks over the connection.
final class TalkingService: ConnectionUsing {
    let name: ServiceName = "talker"
    let budgets = Budgets.generous
    private let stage: Stage
    private let channel = Lock<(any Connection)?>(nil)

    init(stage: Stage) { self.stage = stage }

    func use(_ channel: any Connection) throws(LinkspanError) {
        self.channel.withLock { $0 = channel }
    }

    func start(_ scope: ServiceScope) async throws {
        let channel = self.channel.withLock { $0 }
        try self.stage.note("start talker", channel == nil ? " alone" : " with a channel")
        try channel?.send("say", 99)
    }
}
