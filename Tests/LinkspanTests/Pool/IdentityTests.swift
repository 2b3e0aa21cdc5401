@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Logging
internal import Testing

@Suite("Identity in the pool", .timeLimit(.minutes(1)))
struct IdentityTests {
    private let harness = PoolHarness()

    private func configuration(
        _ source: CredentialSource, _ url: String = "scripted://server",
        _ options: (inout ConnectionOptions) -> Void = { _ in }
    ) throws -> ConnectionConfiguration {
        try ConnectionBuilder(url).transport(self.harness.transport).credentials(source).options(options).build()
    }

    private func connect(_ source: CredentialSource, _ url: String = "scripted://server") async throws
        -> ConnectionHandler
    {
        let handler = try self.configuration(source, url).connect(by: self.harness.manager)
        try await eventually("the link", self.harness.scheduler) { handler.state == .connected }
        return handler
    }

    /// Whom the server takes the connection for.
    private func user(_ handler: ConnectionHandler) async throws -> String {
        self.harness.transport.onMessage { $0.reply(.json("\"\($0.peer.request.token)\"")) }
        let recorder = EventRecorder()
        try handler.perform(
            Command(.request, event: "whoami", payload: .empty, completion: recorder.completion("whoami")))
        self.harness.scheduler.settle()
        return try #require(recorder.outcomes("whoami").first).get().decode(String.self)
    }

    @Test
    func `a second user within the idle timeout of the first gets a connection of their own`() async throws {
        let first = try await self.connect(.user("ann"))
        #expect(try await self.user(first) == "ann")
        first.release()
        let second = try await self.connect(.user("bob"))
        #expect(try await self.user(second) == "bob")
        let nobody = try await self.connect(.none)
        #expect(try await self.user(nobody) == "")
        #expect(self.harness.manager.statistics.count == 3)
    }

    @Test
    func `a connection with several holders is not given to another source`() async throws {
        let source = CredentialSource.user("ann")
        let holders = [try await self.connect(source), try await self.connect(source)]
        let other = try await self.connect(.user("bob"))
        let nobody = try await self.connect(.none)
        #expect(try await self.user(other) == "bob")
        #expect(try await self.user(nobody) == "")
        #expect(holders[0].connection === holders[1].connection)
        #expect(self.harness.transport.openPeers.count == 3)
    }

    @Test
    func `fixed credentials are shared by content, providers by instance, and accounts tell sources apart`() throws {
        let (one, other) = (Credentials(auth: .json("1")), Credentials(auth: .json("2")))
        #expect(CredentialSource.fixed(one) == .fixed(one))
        #expect(CredentialSource.fixed(one) != .fixed(other))
        #expect(CredentialSource.fixed(Credentials()) == .none)
        #expect(CredentialSource.fixed(one, account: "a") != .fixed(one, account: "b"))
        let provider = CredentialSource.user("ann")
        let copy = provider
        #expect(provider == copy)
        #expect(provider != .user("ann"))
        #expect(provider != .none)
        // The same to the eye, but not the same bytes.
        #expect(Secret("\u{E9}") != Secret("e\u{301}"))
        let header = Credentials(headers: [.init("Authorization", "ann")])
        #expect(CredentialSource.fixed(header) != .fixed(Credentials(headers: [.init("Authorization", "bob")])))
    }

    @Test
    func `identifying settings of a transport separate connections, and print nothing`() throws {
        let transports = ["ann", "bob"].map { IdentifiedTransport(base: self.harness.transport, key: Secret($0)) }
        let handlers = try transports.map {
            try ConnectionBuilder("scripted://server").transport($0).connect(by: self.harness.manager)
        }
        let again = try ConnectionBuilder("scripted://server").transport(transports[0])
            .connect(by: self.harness.manager)
        #expect(self.harness.manager.statistics.map(\.holders).sorted() == [1, 2])
        #expect(handlers[0].connection === again.connection)
        let identity = try ConnectionBuilder("scripted://server").transport(transports[0])
            .credentials(.fixed(Credentials(headers: [.init("Authorization", "ann")]))).build().identity
        var dumped = ""
        dump(identity, to: &dumped)
        #expect(!"\(identity) \(String(reflecting: identity)) \(dumped)".contains("ann"))
    }

    @Test
    func `a move to other identifying settings keeps what one user sent and was sent from the next`() throws {
        let transports = ["ann", "bob"].map { IdentifiedTransport(base: self.harness.transport, key: Secret($0)) }
        let handler = try ConnectionBuilder("scripted://server").transport(transports[0])
            .connect(by: self.harness.manager)
        self.harness.scheduler.settle()
        self.harness.transport.openPeers.first?.emit("dm", .json("1"))
        self.harness.scheduler.settle()
        try handler.disconnect()
        let (recorder, heard) = (EventRecorder(), Lock<[String]>([]))
        try handler.perform(
            Command(
                .deliver(orderingKey: "a"), event: "pay", payload: .empty, completion: recorder.completion("pay")))
        let next = try ConnectionBuilder("scripted://server").transport(transports[1]).build()
        try self.harness.manager.move(handler, to: next)
        self.harness.scheduler.settle()
        try handler.on("dm") { message in heard.withLock { $0.append(message.payload.text) } }
        try handler.connect()
        self.harness.scheduler.settle()
        self.harness.transport.openPeers.first?.emit("dm", .json("2"))
        self.harness.scheduler.settle()
        #expect(recorder.failure("pay")?.code == .moved)
        #expect(self.harness.transport.received.isEmpty)
        #expect(heard.withLock { $0 } == ["2"])
    }

    @Test
    func `endpoints that differ in their queries conflict, without showing them`() throws {
        let handler = try self.configuration(.none, "scripted://server") {
            $0.endpoints = Endpoints(urls: ["scripted://other?user=ann"])
        }.connect(by: self.harness.manager)
        let error = #expect(throws: LinkspanError.self) {
            try self.configuration(.none, "scripted://server") {
                $0.endpoints = Endpoints(urls: ["scripted://other?user=bob"])
            }.connect(by: self.harness.manager)
        }
        #expect(error?.code == .conflictingOptions)
        #expect(error?.message.contains("user=") == false)
        withExtendedLifetime(handler) {}
    }

    @Test
    func `other options for the same identity still conflict, for another identity they do not`() async throws {
        let source = CredentialSource.user("ann")
        let handler = try await self.connect(source)
        let error = #expect(throws: LinkspanError.self) {
            try self.configuration(source, "scripted://server") { $0.retry = .never }.connect(by: self.harness.manager)
        }
        #expect(error?.code == .conflictingOptions)
        #expect(error?.message.contains("retry (backoff") == true)
        #expect(error?.message.contains("wanted never)") == true)
        let other = try self.configuration(.user("bob"), "scripted://server") { $0.retry = .never }
            .connect(by: self.harness.manager)
        #expect(other.connection !== handler.connection)
    }

    @Test
    func `policies of functions and greetings are shared by instance`() throws {
        let policy = RetryPolicy { _ in nil }
        #expect(policy.description != RetryPolicy { _ in nil }.description)
        let three = RetryPolicy.backoff(limit: 3).description
        #expect(RetryPolicy.backoff(limit: 3).description == three)
        #expect(RetryPolicy.standard.description != three)
        let greeting = Greeting("hello") { _ in }
        let copy = greeting
        #expect(greeting.comparison == copy.comparison)
        #expect(greeting.comparison != Greeting("hello") { _ in }.comparison)
        let handler = try self.harness.connect { $0.greeting = greeting }
        let again = try self.harness.connect { $0.greeting = greeting }
        #expect(handler.connection === again.connection)
        let error = #expect(throws: LinkspanError.self) {
            try self.harness.connect { $0.greeting = Greeting("hello") { _ in } }
        }
        #expect(error?.code == .conflictingOptions)
    }

    @Test
    func `to connect without credentials beside a connection with credentials is logged as a notice`() async throws {
        let log = LogRecorder(from: .notice)
        let scheduler = VirtualScheduler()
        let transport = ScriptedTransport(scheduler: scheduler)
        let manager = ConnectionManager(
            options: .init {
                $0.scheduler = scheduler
                $0.logger = Logger(label: "test", factory: { _ in log })
            })
        func connect(_ source: CredentialSource) throws -> ConnectionHandler {
            try ConnectionBuilder("scripted://server?secret=1").transport(transport).credentials(source)
                .connect(by: manager)
        }
        var notices: [String] {
            log.lines.filter { $0.level == .notice }.map { "\($0.message) \($0.metadata)" }
        }
        let alone = [try connect(.none), try connect(.none)]
        #expect(notices.isEmpty)
        let user = try connect(.fixed(Credentials(auth: .json("\"ann\""))))
        #expect(notices.isEmpty)
        let nobody = try connect(.none)
        #expect(notices.count == 1)
        #expect(!notices.joined().contains("secret=1"))
        user.release()
        scheduler.advance(by: .seconds(3_600))
        let later = try connect(.none)
        #expect(notices.count == 1, "the one with credentials has left")
        withExtendedLifetime((alone, nobody, later)) {}
    }

    // MARK: Moving

    @Test
    func `a move addresses the connection that is held, not another user's of the same URL`() async throws {
        let (ann, bob) = (try await self.connect(.user("ann")), try await self.connect(.user("bob")))
        let next = CredentialSource.user("cid")
        #expect(try self.harness.manager.move(bob, to: try self.configuration(next)))
        try await eventually("the new link", self.harness.scheduler) { bob.state == .connected }
        #expect(try await self.user(ann) == "ann")
        #expect(try await self.user(bob) == "cid")
        #expect(try await self.connect(next).connection === bob.connection)
        bob.release()
        let released = #expect(throws: LinkspanError.self) {
            try self.harness.manager.move(bob, to: try self.configuration(.none))
        }
        #expect(released?.code == .released)
    }

    @Test
    func `waiting commands fail when the connection moves to another source, and move along otherwise`() async throws {
        let source = CredentialSource.user("ann")
        let recorder = EventRecorder()
        let handler = try await self.connect(source)
        try handler.disconnect()
        for (event, kind) in [
            ("send", Command.Kind.send), ("request", .request), ("deliver", .deliver(orderingKey: "a")),
        ] {
            try handler.perform(Command(kind, event: event, payload: .empty, completion: recorder.completion(event)))
        }
        try self.harness.manager.move(handler, to: try self.configuration(source, "scripted://other"))
        #expect(handler.status.waitingCommands == 3)
        try self.harness.manager.move(handler, to: try self.configuration(.user("bob"), "scripted://other"))
        #expect(handler.status.waitingCommands == 0)
        for event in ["send", "request", "deliver"] {
            let error = recorder.failure(event)
            #expect(error?.code == .moved)
            #expect(error?.certainty == .notSent)
        }
        try handler.connect()
        try await eventually("the new link", self.harness.scheduler) { handler.state == .connected }
        self.harness.scheduler.advance(by: .seconds(1))
        #expect(self.harness.transport.received.isEmpty)
    }

    @Test
    func `no resumption goes along to another source or to another connection`() async throws {
        let transport = ResumingTransport(base: self.harness.transport)
        func configuration(_ source: CredentialSource) throws -> ConnectionConfiguration {
            try ConnectionBuilder("scripted://server").transport(transport).credentials(source).build()
        }
        let handler = try configuration(.fixed(.auth("ann"))).connect(by: self.harness.manager)
        self.harness.scheduler.settle()
        #expect(handler.status.resumption?.exposed == "session of ann")
        for peer in self.harness.transport.openPeers { peer.drop() }
        self.harness.scheduler.advance(by: .seconds(5))
        #expect(transport.shown == [nil, "session of ann"])
        let other = try configuration(.fixed(.auth("bob"))).connect(by: self.harness.manager)
        self.harness.scheduler.settle()
        #expect(transport.shown == [nil, "session of ann", nil])
        try self.harness.manager.move(handler, to: try configuration(.fixed(.auth("cid"))))
        self.harness.scheduler.settle()
        #expect(transport.shown == [nil, "session of ann", nil, nil])
        withExtendedLifetime(other) {}
    }

    @Test
    func `the pool asks a third party's transport for nothing under its lock`() throws {
        let manager = self.harness.manager
        let transport = CuriousTransport(base: self.harness.transport) { [weak manager] in _ = manager?.poolIsFree() }
        func configuration(_ url: String) throws -> ConnectionConfiguration {
            try ConnectionBuilder(url).transport(transport).build()
        }
        let first = try configuration("scripted://server").connect(by: manager)
        let second = try configuration("scripted://server").connect(by: manager)
        try manager.move(first, to: try configuration("scripted://other"))
        #expect(manager.statistics.map(\.holders) == [2])
        first.release()
        second.release()
        self.harness.scheduler.advance(by: .seconds(30))
        #expect(manager.statistics.isEmpty)
        #expect(transport.asked.withLock { $0 } > 0)
    }
}

extension ConnectionManager {
    /// Whether the pool's lock is free for another thread; the test hangs here when it is not.
    fileprivate func poolIsFree() -> Bool { self.pool.withLock { _ in true } }
}

extension CredentialSource {
    /// A provider that always gives this token, as a source of its own.
    static func user(_ token: String) -> Self { .provider { _ in .auth(token) } }
}

extension Credentials {
    /// A token as the auth payload.
    static func auth(_ token: String) -> Self { Self(auth: .json("\"\(token)\"")) }
}

extension EventRecorder {
    func failure(_ event: String) -> LinkspanError? {
        guard case .failure(let error) = self.outcomes(event).first else { return nil }
        return error
    }
}

/// A transport whose own settings tell the server who connects.
private struct IdentifiedTransport: Transport {
    let base: ScriptedTransport
    let key: Secret
    var name: String { "identified" }
    var schemes: Set<String> { self.base.schemes }
    var executor: any JobExecutor { self.base.executor }
    var identity: [String: Secret] { ["key": self.key] }

    func makeLink(_ request: LinkRequest, receiver: any LinkReceiver) -> any Link {
        self.base.makeLink(request, receiver: receiver)
    }
}

/// A transport whose sessions can be resumed by those who know their token.
private struct ResumingTransport: Transport {
    let base: ScriptedTransport
    private let requests = Lock<[LinkRequest]>([])
    let name = "resuming"
    var schemes: Set<String> { self.base.schemes }
    var executor: any JobExecutor { self.base.executor }

    init(base: ScriptedTransport) { self.base = base }

    /// What links were to resume from, in their order.
    var shown: [String?] { self.requests.withLock { $0.map { $0.resumption?.exposed } } }

    func makeLink(_ request: LinkRequest, receiver: any LinkReceiver) -> any Link {
        self.requests.withLock { $0.append(request) }
        return ResumingLink(base: self.base.makeLink(request, receiver: receiver), token: request.token)
    }
}

private final class ResumingLink: Link {
    private let base: any Link
    private let token: String

    init(base: any Link, token: String) {
        self.base = base
        self.token = token
    }

    var resumption: Secret? { Secret("session of \(self.token)") }
    func open() { self.base.open() }
    func send(_ message: OutboundMessage) -> SendAcceptance { self.base.send(message) }
    func reply(to id: UInt64, with payload: Payload) -> SendAcceptance { self.base.reply(to: id, with: payload) }
    func close(code: UInt16?, reason: String) { self.base.close(code: code, reason: reason) }
    func abort() { self.base.abort() }
}

/// A transport that runs a probe whenever it is asked for what the pool compares.
private struct CuriousTransport: Transport {
    let base: ScriptedTransport
    let asked = Lock(0)
    let probe: @Sendable () -> Void
    let name = "curious"
    var schemes: Set<String> { self.base.schemes }
    var executor: any JobExecutor { self.curious(self.base.executor) }
    var options: [String: String] { self.curious([:]) }
    var identity: [String: Secret] { self.curious([:]) }
    var endpoint: String { self.curious("") }

    private func curious<Value>(_ value: Value) -> Value {
        self.asked.withLock { $0 += 1 }
        self.probe()
        return value
    }

    func makeLink(_ request: LinkRequest, receiver: any LinkReceiver) -> any Link {
        self.base.makeLink(request, receiver: receiver)
    }
}
