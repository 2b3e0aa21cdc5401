@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import TestSupport
internal import Testing

@Suite("Credentials", .timeLimit(.minutes(1)))
struct CredentialTests {
    private static let refusal = LinkspanError(.credentialsRefused, "refused in a test")

    /// Moves the clock until a condition holds, but not while the provider's task has the word: its deadline must not
    /// pass.
    private func run(_ harness: Harness, _ what: String, until condition: () -> Bool) async throws {
        try await eventually(Comment(rawValue: what)) {
            switch harness.connection.status.progress {
            case .obtainingCredentials, .opening: harness.scheduler.settle()
            case .idle, .suspended, .waiting, .open: harness.scheduler.advance(by: .milliseconds(10))
            }
            return condition()
        }
    }

    /// Runs until an attempt's link was asked for and has answered.
    private func run(_ harness: Harness, attempt: Int) async throws {
        try await self.run(harness, "attempt \(attempt)") {
            // In this order: the link is asked for behind the progress.
            guard harness.peers.count == attempt else { return false }
            if case .opening = harness.connection.status.progress { return false }
            return true
        }
    }

    @Test
    func `fixed credentials reach every attempt`() throws {
        let credentials = try Credentials(auth: ["token": "t"])
        let harness = try Harness(credentials: .fixed(credentials)) { number in
            number == 1 ? .refusing(.lost) : .perfect
        }
        try harness.connection.connect()
        harness.scheduler.advance(by: .seconds(5))
        #expect(harness.peers.map { $0.request.credentials.auth?.text } == [#"{"token":"t"}"#, #"{"token":"t"}"#])
    }

    @Test
    func `the provider is asked before each attempt, with the reason`() async throws {
        let provider = ScriptedProvider()
        let harness = try Harness(credentials: .provider { try await provider.credentials(for: $0) }) { number in
            number == 1 ? .refusing(.lost) : .init { $0.dropsAfter = .seconds(1) }
        }
        try harness.connection.connect()
        for attempt in 1...3 { try await self.run(harness, attempt: attempt) }
        #expect(provider.reasons == [.first, .retry, .retry])
        #expect(harness.peers.map { $0.request.credentials.auth?.text } == ["1", "2", "3"])
    }

    @Test
    func `refused credentials are renewed once; refused again, the connection is given up`() async throws {
        let provider = ScriptedProvider()
        let harness = try Harness(credentials: .provider { try await provider.credentials(for: $0) }) { _ in
            .refusing(Self.refusal)
        }
        try harness.perform(.send, "event")
        try harness.connection.connect()
        try await self.run(harness, attempt: 1)
        guard case .waiting(let until, _) = harness.connection.status.progress else {
            Issue.record("no renewal is due: \(harness.connection.status.progress)")
            return
        }
        #expect(harness.scheduler.now.duration(to: until) <= .milliseconds(250))
        try await self.run(harness, attempt: 2)
        #expect(provider.reasons == [.first, .refused])
        #expect(harness.connection.state == .disconnected)
        #expect(harness.recorder.changes.last?.reason.error?.code == .credentialsRefused)
        #expect(harness.failure("event")?.certainty == .notSent)
        harness.scheduler.advance(by: .seconds(600))
        #expect(harness.peers.count == 2)
    }

    @Test
    func `a renewal is asked for once, also when the network fails behind it`() async throws {
        let provider = ScriptedProvider()
        let harness = try Harness(credentials: .provider { try await provider.credentials(for: $0) }) { number in
            number == 1 ? .refusing(Self.refusal) : number == 2 ? .refusing(.lost) : .perfect
        }
        try harness.connection.connect()
        for attempt in 1...3 { try await self.run(harness, attempt: attempt) }
        #expect(provider.reasons == [.first, .refused, .retry])
        #expect(harness.connection.state == .connected)
    }

    @Test
    func `an accepted renewal counts, and the next refusal may be renewed again`() async throws {
        let provider = ScriptedProvider()
        let harness = try Harness(credentials: .provider { try await provider.credentials(for: $0) }) { number in
            // Accepted is what lasts; see `healthyAfter`.
            number == 2 ? .dropping(after: .seconds(60)) : number == 4 ? .perfect : .refusing(Self.refusal)
        }
        try harness.connection.connect()
        for attempt in 1...4 { try await self.run(harness, attempt: attempt) }
        #expect(provider.reasons == [.first, .refused, .retry, .refused])
        #expect(harness.connection.state == .connected)
    }

    @Test
    func `fixed credentials that are refused are not shown again`() throws {
        let harness = try Harness(credentials: .fixed(Credentials())) { _ in .refusing(Self.refusal) }
        try harness.connection.connect()
        harness.scheduler.advance(by: .seconds(60))
        #expect(harness.peers.count == 1)
        #expect(harness.connection.state == .disconnected)
    }

    @Test(arguments: [false, true])
    func `an error in which the server repeats the credentials is shown without them`(isProvided: Bool) async throws {
        let credentials = try Credentials(auth: ["token": "secret-7f3a"])
        let source: CredentialSource = isProvided ? .provider { _ in credentials } : .fixed(credentials)
        let harness = try Harness(credentials: source) { _ in
            .refusing(LinkspanError(.refused, "no user has secret-7f3a"))
        }
        try harness.connection.connect()
        try await self.run(harness, attempt: 1)
        let error = try #require(harness.connection.status.lastError)
        #expect(error.code == .refused)
        #expect(!"\(error) \(error.message)".contains("secret"), "\(error)")
    }

    @Test
    func `a provider that fails is asked again`() async throws {
        let provider = ScriptedProvider(failures: 1)
        let harness = try Harness(credentials: .provider { try await provider.credentials(for: $0) }) { _ in .perfect }
        try harness.connection.connect()
        try await eventually("the failure") { harness.recorder.changes.last?.to == .reconnecting }
        #expect(harness.recorder.changes.last?.reason.error?.code == .credentialsUnavailable)
        try await self.run(harness, attempt: 1)
        #expect(provider.reasons == [.first, .retry])
    }

    @Test
    func `a provider that hangs costs its deadline and is cancelled`() async throws {
        let cancelled = Counter()
        let harness = try Harness(
            credentials: .provider { _ in
                let gate = Promise<Void>()
                await withTaskCancellationHandler {
                    await gate.value
                } onCancel: {
                    cancelled.increment()
                    gate.fulfill()
                }
                throw CancellationError()
            }, script: { _ in .perfect })
        try harness.connection.connect()
        harness.scheduler.advance(by: .milliseconds(9_999))
        #expect(harness.connection.status.progress == .obtainingCredentials(attempt: 1))
        harness.scheduler.advance(by: .milliseconds(1))
        #expect(harness.connection.state == .reconnecting)
        #expect(harness.recorder.changes.last?.reason.error?.code == .credentialsUnavailable)
        try await eventually("the cancellation") { cancelled.value == 1 }
        #expect(harness.peers.isEmpty)
    }

    @Test
    func `disconnecting while credentials are obtained cancels the provider and opens nothing`() async throws {
        let gate = Promise<Void>()
        let harness = try Harness(
            credentials: .provider { request in
                if request.reason != .first { await gate.value }
                return Credentials()
            }, script: { _ in .perfect })
        try harness.connection.connect()
        try await self.run(harness, attempt: 1)
        harness.peers.first?.drop()
        harness.scheduler.advance(by: .seconds(5))
        #expect(harness.connection.status.progress == .obtainingCredentials(attempt: 1))
        try harness.connection.disconnect()
        gate.fulfill()
        harness.scheduler.advance(by: .seconds(60))
        #expect(harness.peers.count == 1)
        #expect(harness.connection.state == .disconnected)
    }
}

@Suite("Secrets")
struct SecretTests {
    private static let canary = "canary-7f3a"

    private var credentials: Credentials {
        get throws {
            var credentials = try Credentials(auth: ["token": Self.canary])
            credentials.headers = [.init("Authorization", Secret(Self.canary))]
            credentials.query = [.init("token", Secret(Self.canary))]
            return credentials
        }
    }

    private func everyText(of value: some Any) -> [String] {
        var dumped = ""
        dump(value, to: &dumped)
        return ["\(value)", String(reflecting: value), String(describing: value), dumped, self.deepText(of: value)]
    }

    /// What reflection finds, bytes read as text included.
    private func deepText(of value: Any, depth: Int = 0) -> String {
        if let bytes = value as? ArraySlice<UInt8> { return String(decoding: bytes, as: UTF8.self) }
        guard depth < 8 else { return "" }
        return Mirror(reflecting: value).children
            .map { "\($0.label ?? "")=\($0.value) " + self.deepText(of: $0.value, depth: depth + 1) }.joined()
    }

    @Test
    func `G15: no way of printing shows a secret`() throws {
        let credentials = try self.credentials
        let url = try ConnectionURL("scripted://server?token=\(Self.canary)")
        let request = LinkRequest(url: url, credentials: credentials)
        for text in self.everyText(of: Secret(Self.canary)) + self.everyText(of: credentials) {
            #expect(!text.contains(Self.canary))
        }
        for text in ["\(request)", String(reflecting: request), "\(url)"] { #expect(!text.contains(Self.canary)) }
        #expect("\(Secret(Self.canary))" == "<redacted>")
        #expect("\(credentials)".contains("Authorization"), "names may be shown")
    }

    @Test
    func `G15: no error and no state change shows a secret`() throws {
        let url = "scripted://server/?token=\(Self.canary)"
        let scheduler = VirtualScheduler()
        let transport = ScriptedTransport(scheduler: scheduler) { _ in
            .refusing(LinkspanError(.credentialsRefused, "refused in a test"))
        }
        let recorder = EventRecorder()
        let manager = ConnectionManager(
            options: .init {
                $0.scheduler = scheduler
            })
        let source = CredentialSource.fixed(try self.credentials)
        let configuration = try ConnectionBuilder(url).transport(transport).credentials(source).build()
        let handler = try manager.connect(configuration)
        try recorder.watch(handler)
        try handler.perform(
            Command(
                .send, event: "event", payload: .json("\"\(Self.canary)\""), completion: recorder.completion("event")))
        let conflict = #expect(throws: LinkspanError.self) {
            try ConnectionBuilder(url).transport(transport).credentials(source).options { $0.idleTimeout = .zero }
                .connect(by: manager)
        }
        scheduler.advance(by: .seconds(60))
        #expect(recorder.outcomes("event").count == 1)
        let texts =
            recorder.entries.map { "\($0)\($0.summary)" } + ["\(configuration)"] + [conflict.map { "\($0)" } ?? ""]
        for text in texts { #expect(!text.contains(Self.canary)) }
        #expect(!harnessTexts(handler).contains(Self.canary))
    }

    @Test
    func `G15: no part of sharing and renewing shows a secret`() throws {
        var credentials = try self.credentials
        credentials.url = try ConnectionURL("scripted://server/?signature=\(Self.canary)")
        credentials.validFor = .seconds(100)
        let url = try ConnectionURL("scripted://server/?token=\(Self.canary)")
        let request = CredentialRequest(url: url, reason: .first)
        let issued = IssuedCredentials(credentials: credentials, generation: 1, issuedAt: .now, reason: .first)
        let waiter = CredentialQueue.Waiter(id: 1, request: request, held: 0) { _ in }
        var queue = CredentialQueue()
        _ = queue.ask(waiter, now: .now)
        queue.keep(issued)
        var machine = SharedCredentials.StateMachine()
        _ = machine.ask(request, login: 0, held: 0, now: .now) { _ in }
        _ = machine.answered(1, credentials, now: .now)
        let transport = ScriptedTransport(scheduler: VirtualScheduler())
        let configuration = try ConnectionBuilder("scripted://server").transport(transport)
            .credentials(.fixed(credentials)).build()
        let link = LinkRequest(url: url, credentials: credentials)
        let values: [Any] = [
            credentials, url, request, issued, waiter, queue, machine, link, configuration, configuration.credentials,
            CredentialSource.provider { [credentials] _ in credentials }, CredentialQueue.OnAsk.answer(issued),
            SharedCredentials.StateMachine.Action.answer([waiter], .success(issued)),
        ]
        for text in values.flatMap({ self.everyText(of: $0) }) { #expect(!text.contains(Self.canary), "\(text)") }
    }

    private func harnessTexts(_ handler: ConnectionHandler) -> String {
        "\(handler.status.url) \(handler.stateChanges)"
    }
}

/// Credentials that count up, each with the reason that was given.
private final class ScriptedProvider: Sendable {
    private let state: Lock<(reasons: [CredentialRequest.Reason], failures: Int)>

    init(failures: Int = 0) { self.state = Lock(([], failures)) }

    var reasons: [CredentialRequest.Reason] { self.state.withLock { $0.reasons } }

    func credentials(for request: CredentialRequest) async throws -> Credentials {
        let (count, fails) = self.state.withLock { state in
            state.reasons.append(request.reason)
            return (state.reasons.count, state.reasons.count <= state.failures)
        }
        if fails { throw CancellationError() }
        return Credentials(auth: .json("\(count)"))
    }
}
