internal import LinkspanLifecycle
internal import LinkspanMessaging
internal import LinkspanRuntime
internal import LinkspanTesting
internal import TestSupport
internal import Testing

@testable internal import Linkspan
@testable internal import LinkspanServices

/// A source whose fetches end as a test says, what it did, and a clock that the test moves.
private final class Run: Sendable {
    indirect enum Outcome: Sendable {
        /// A token that is good for so many seconds, if that is known.
        case token(Int?)
        case fails
        case revoked
        /// The same when the promise is fulfilled.
        case later(Promise<Void>, Outcome)

        func settled() async throws -> Credentials {
            switch self {
            case .token(let seconds): return Credentials(validFor: seconds.map { .seconds($0) })
            case .fails: throw LinkspanError(.connectionLost, "no")
            case .revoked: throw TokenRevoked()
            case .later(let promise, let outcome):
                await promise.value
                return try await outcome.settled()
            }
        }
    }

    private final class Owner: Sendable {}

    let scheduler = VirtualScheduler()
    /// What it did, as text: `fetch first`, `refreshed 60 1`, `failed 1 5`, `revoked`, `answer 60`; a lifetime may be `unknown`.
    let recorder = EventRecorder()
    let tokens: TokenSource
    private let outcomes: Lock<[Outcome]>
    private let owner = Owner()

    /// Makes a source; when no outcome is left, fetches fail.
    init(_ outcomes: [Outcome], random: Double = 0) {
        let remaining = Lock(outcomes)
        self.outcomes = remaining
        self.tokens = TokenSource(scheduler: self.scheduler, random: { random }) { [recorder] reason in
            // Before the note: a test that waits for it may begin another fetch at once.
            let outcome = remaining.withLock { $0.isEmpty ? .fails : $0.removeFirst() }
            recorder.note("fetch \(reason)")
            return try await outcome.settled()
        }
    }

    func next(_ outcomes: Outcome...) { self.outcomes.withLock { $0 = outcomes } }

    /// Begins to renew ahead.
    ///
    /// - Returns: what follows its events, and ends with them.
    @discardableResult
    func begin(lead: Int = 60, jitter: Int = 0, maxAttempts: Int = 3) async throws -> Task<Void, Never> {
        let options = TokenRefreshService.Options(
            lead: .seconds(lead), jitter: .seconds(jitter), maxAttempts: maxAttempts)
        await self.tokens.refresher.start(options.timing, of: ObjectIdentifier(self.owner), self.tokens.credentials)
        let events = try #require(await self.tokens.refresher.events(of: ObjectIdentifier(self.owner)))
        // No parent: it ends with the run.
        return Task { [recorder] in
            for await event in events {
                #expect(event.connection == 0 && event.endpoint.isEmpty, "it is about no connection")
                switch event.kind {
                case .credentialsRefreshed(let validFor, let attempt):
                    recorder.note("refreshed \(validFor.map { "\($0.components.seconds)" } ?? "unknown") \(attempt)")
                case .credentialsFailed(let attempt, let reason, let pause):
                    recorder.note("failed \(attempt) \(reason) \(pause.map { "\($0.components.seconds)" } ?? "never")")
                case .credentialsRevoked: recorder.note("revoked")
                default: recorder.note("?")
                }
            }
        }
    }

    func apply(lead: Int) async {
        await self.tokens.refresher.apply(
            TokenRefreshService.Options(lead: .seconds(lead), jitter: .zero).timing,
            of: ObjectIdentifier(self.owner))
    }

    func end() async { await self.tokens.refresher.stop(ObjectIdentifier(self.owner)) }

    /// Asks as a connection does that knows the token of generation `held`.
    func ask(_ reason: CredentialRequest.Reason, held: UInt64 = 0) throws {
        guard case .provider(let shared) = self.tokens.credentials.kind else { return }
        let request = CredentialRequest(url: try ConnectionURL("scripted://server"), reason: reason)
        _ = shared.ask(request, login: shared.login, held: held, scheduler: self.scheduler) {
            [recorder, scheduler] outcome in
            switch outcome {
            case .success(let issued):
                let rest = issued.expiry.map { scheduler.moment.duration(to: $0).components.seconds }
                recorder.note("answer \(rest.map { "\($0)" } ?? "unknown")")
            case .failure(let error): recorder.note("answer \(error.code.rawValue)")
            }
        }
    }

    /// In how many seconds the next renewal is due.
    func due() async -> Int64? {
        await self.tokens.refresher.deadline.map { self.scheduler.moment.duration(to: $0).components.seconds }
    }

    func pass(_ seconds: Int) { self.scheduler.advance(by: .seconds(seconds)) }

    /// Lets so much time pass that a token is renewed, which ends so, and waits until that is over for those who ask,
    /// too: what is told is told a little earlier, and who asks meanwhile shares the outcome.
    ///
    /// - Parameters:
    ///   - seconds: how much.
    ///   - outcome: how the renewal ends.
    ///   - notes: what it is to tell.
    /// - Throws: when it does not end.
    func pass(_ seconds: Int, toRenewal outcome: Outcome, _ notes: String...) async throws {
        let end = Promise<Void>()
        self.next(.later(end, outcome))
        let fetches = self.fetches.count
        let answers = self.answers
        self.pass(seconds)
        try await self.recorder.wait(for: "a fetch") { $0.count { $0.summary.hasPrefix("note: fetch") } > fetches }
        try self.ask(.expiring, held: .max)
        end.fulfill()
        try await self.wait(notes)
        try await self.recorder.wait(for: "an answer") { $0.count { $0.summary.hasPrefix("note: answer") } > answers }
    }

    /// Waits until these have been noted, whatever else has.
    func wait(_ notes: String...) async throws { try await self.wait(notes) }

    private func wait(_ notes: [String]) async throws {
        try await self.recorder.wait(for: notes.joined(separator: ", ")) { entries in
            var missing = notes
            for case .note(let note) in entries {
                if let index = missing.firstIndex(of: note) { missing.remove(at: index) }
            }
            return missing.isEmpty
        }
    }

    var fetches: [String] { self.recorder.notes.filter { $0.hasPrefix("fetch") } }

    private var answers: Int { self.recorder.notes.count { $0.hasPrefix("answer") } }
}

@Suite("Token refresher", .timeLimit(.minutes(1)))
struct TokenRefresherTests {
    @Test
    func `all who ask share one fetch, and then the token with what is left of it`() async throws {
        let run = Run([.token(600)])
        try run.ask(.first)
        try run.ask(.first)
        try await run.wait("answer 600", "answer 600")
        run.pass(100)
        try run.ask(.retry)
        try await run.wait("answer 500")
        #expect(run.fetches == ["fetch first"])
    }

    @Test
    func `a token is renewed ahead of its expiry, with and without connections`() async throws {
        let run = Run([.token(600), .token(600), .token(600)], random: 0.5)
        try await run.begin(lead: 60, jitter: 20)
        try run.ask(.first)
        try await run.wait("refreshed 600 1", "answer 600")
        #expect(await run.due() == 530)
        run.pass(529)
        #expect(run.fetches == ["fetch first"])
        run.pass(1)
        try await run.wait("fetch expiring", "refreshed 600 1", "refreshed 600 1")
        // The connection asks when four fifths of the token that it knows are over; there is a newer one.
        try run.ask(.expiring, held: 1)
        try run.ask(.refused, held: 1)
        try await run.wait("answer 600", "answer 600", "answer 600")
        #expect(run.fetches.count == 2)
        // The same one was refused now.
        try run.ask(.refused, held: 2)
        try await run.wait("fetch refused")
        await run.end()
    }

    @Test
    func `without the service nothing is renewed ahead`() async throws {
        let run = Run([.token(600), .token(600)])
        try run.ask(.first)
        try await run.wait("answer 600")
        #expect(await run.due() == nil)
        run.pass(550)
        #expect(run.fetches == ["fetch first"])
        try run.ask(.retry)
        try await run.wait("fetch expiring")
    }

    @Test(arguments: [(600, 540), (100, 50), (1, 1), (0, nil)] as [(Int, Int64?)])
    func `a short token is used for half of its time at least`(validFor: Int, due: Int64?) async throws {
        let run = Run([.token(validFor)])
        try await run.begin(lead: 60)
        try run.ask(.first)
        try await run.wait("refreshed \(due == nil ? "unknown" : "\(validFor)") 1")
        #expect(await run.due() == due)
        await run.end()
    }

    @Test
    func `failures are repeated with growing pauses, so often and not more; then asking begins again`() async throws {
        let run = Run([.token(600)], random: 1)
        try await run.begin(maxAttempts: 3)
        try run.ask(.first)
        try await run.wait("refreshed 600 1", "answer 600")
        try await run.pass(540, toRenewal: .fails, "failed 1 connectionLost 1")
        try await run.pass(1, toRenewal: .fails, "failed 2 connectionLost 2")
        try await run.pass(2, toRenewal: .fails, "failed 3 connectionLost never")
        #expect(await run.due() == nil)
        // What is left is still handed out.
        try run.ask(.retry)
        try await run.wait("answer 57")
        run.pass(100)
        run.next(.token(600))
        try run.ask(.retry)
        try await run.wait("answer 600", "answer 600", "refreshed 600 5")
        #expect(await run.due() == 540)
        let first = "failed 1 connectionLost 1"
        try await run.pass(540, toRenewal: .fails, first, first)
        #expect(run.fetches == ["fetch first"] + Array(repeating: "fetch expiring", count: 6))
        await run.end()
    }

    @Test
    func `a fetch that does not come back is given up, and its late answer does not count`() async throws {
        let late = Promise<Void>()
        let run = Run([.later(late, .token(600)), .token(500)])
        try await run.begin()
        try run.ask(.first)
        try await run.wait("fetch first")
        // The limit begins with the fetch, on another task.
        await run.scheduler.pending(atLeast: 1)
        run.pass(30)
        try await run.wait("answer credentialsUnavailable", "failed 1 timedOut never")
        late.fulfill()
        try run.ask(.retry)
        try await run.wait("fetch first", "fetch first", "answer 500")
        #expect(!run.recorder.notes.contains("refreshed 600 1"))
        await run.end()
    }

    @Test
    func `a token that was refused is not handed out again, also when no other is to be had`() async throws {
        let run = Run([.token(600), .fails, .fails, .token(500)])
        try run.ask(.first)
        try await run.wait("answer 600")
        try run.ask(.refused, held: 1)
        try await run.wait("fetch refused", "answer credentialsUnavailable")
        try run.ask(.retry)
        try await run.wait(
            "fetch refused", "fetch refused", "answer credentialsUnavailable", "answer credentialsUnavailable")
        try run.ask(.retry)
        try await run.wait("answer 500")
    }

    @Test
    func `a token that cannot be renewed is used until it expires, and not then`() async throws {
        let run = Run([.token(600)])
        try run.ask(.first)
        try await run.wait("answer 600")
        run.pass(599)
        try run.ask(.retry)
        try await run.wait("fetch expiring", "answer 1")
        run.pass(1)
        try run.ask(.retry)
        try await run.wait("fetch expiring", "fetch expiring", "answer credentialsUnavailable")
    }

    @Test
    func `a revocation is reported when there has been no token yet`() async throws {
        let run = Run([.revoked])
        try await run.begin()
        try run.ask(.first)
        try await run.wait("revoked", "answer credentialsUnavailable")
        await run.end()
    }

    @Test
    func `all options of the service change while it runs`() {
        let options = ServiceFactory.tokenRefresh(Run([]).tokens).options
        #expect(options.map(\.name) == ["lead", "jitter", "maxAttempts"])
        #expect(options.map(\.fallback) == ["60", "15", "5"] && options.allSatisfy { $0.reload == .hot })
        let fallback = TokenRefreshService.Options()
        #expect(fallback == .init(lead: .seconds(60), jitter: .seconds(15), maxAttempts: 5))
    }

    @Test
    func `a revocation is reported once, and ends the renewals`() async throws {
        let run = Run([.token(600)])
        try await run.begin()
        try run.ask(.first)
        try await run.wait("refreshed 600 1", "answer 600")
        try await run.pass(540, toRenewal: .revoked, "revoked")
        #expect(await run.due() == nil)
        #expect(run.scheduler.pendingCount == 0)
        run.next(.revoked, .token(600))
        try run.ask(.retry)
        try await run.wait("answer credentialsUnavailable", "answer credentialsUnavailable")
        try run.ask(.retry)
        try await run.wait("refreshed 600 1", "refreshed 600 1")
        #expect(run.recorder.notes.count { $0 == "revoked" } == 1)
        #expect(run.fetches == ["fetch first", "fetch expiring", "fetch first", "fetch first"])
        #expect(await run.due() == 540)
        await run.end()
    }

    @Test
    func `the revocation of each user is reported`() async throws {
        let run = Run([.revoked, .revoked])
        try await run.begin()
        try run.ask(.first)
        try await run.wait("revoked", "answer credentialsUnavailable")
        run.tokens.credentials.forget()()
        try run.ask(.first)
        try await run.wait("revoked", "revoked")
        await run.end()
    }

    @Test
    func `after a log-out no timer is left`() async throws {
        let run = Run([.token(600)])
        try await run.begin()
        try run.ask(.first)
        try await run.wait("refreshed 600 1", "answer 600")
        let rest = run.scheduler.pendingCount - 1
        await run.tokens.refresher.loggedOut(1)
        #expect(run.scheduler.pendingCount == rest)
        await run.end()
    }

    @Test
    func `a token of unknown lifetime is fetched for each attempt`() async throws {
        let run = Run([.token(nil), .token(nil)])
        try await run.begin()
        try run.ask(.first)
        try await run.wait("answer unknown", "refreshed unknown 1")
        #expect(await run.due() == nil)
        try run.ask(.retry)
        try await run.wait("answer unknown", "answer unknown")
        #expect(run.fetches == ["fetch first", "fetch expiring"])
        await run.end()
    }

    @Test
    func `changed options move the renewal`() async throws {
        let run = Run([.token(600)])
        try await run.begin(lead: 60)
        try run.ask(.first)
        try await run.wait("refreshed 600 1", "answer 600")
        await run.apply(lead: 200)
        #expect(await run.due() == 400)
        run.pass(399)
        #expect(run.fetches.count == 1)
        try await run.pass(1, toRenewal: .token(600), "refreshed 600 1", "refreshed 600 1")
        await run.end()
    }

    @Test
    func `a service that is started again renews when it would have, with the options that it was given last`()
        async throws
    {
        let run = Run([.token(600)])
        try await run.begin(lead: 60)
        try run.ask(.first)
        try await run.wait("refreshed 600 1", "answer 600")
        await run.apply(lead: 200)
        await run.end()
        try await run.begin(lead: 60)
        #expect(await run.due() == 400)
        try await run.pass(400, toRenewal: .token(600), "refreshed 600 1", "refreshed 600 1")
        await run.end()
    }

    @Test
    func `chance makes a renewal earlier by the jitter at most`() async throws {
        for _ in 0..<30 {
            let clock = VirtualScheduler()
            let tokens = TokenSource(scheduler: clock) { _ in Credentials(validFor: .seconds(600)) }
            let service = TokenRefreshService(tokens, options: .init(lead: .seconds(60), jitter: .seconds(100)))
            await tokens.refresher.start(service.options.timing, of: service.owner, tokens.credentials)
            let request = CredentialRequest(url: try ConnectionURL("scripted://server"), reason: .first)
            _ = try await tokens.refresher.credentials(for: request, login: 0)
            let due = try #require(await tokens.refresher.deadline)
            #expect((440...540).contains(clock.moment.duration(to: due) / .seconds(1)))
        }
    }

    @Test
    func `a token fetched for a former user is not kept for the next one`() async throws {
        let late = Promise<Void>()
        let run = Run([.later(late, .token(600)), .token(500)])
        let (refresher, request) = (
            run.tokens.refresher, CredentialRequest(url: try ConnectionURL("scripted://server"), reason: .first)
        )
        // The fetch ends while its user signs out.
        let answer = Task { try await refresher.credentials(for: request, login: 1) }
        try await run.wait("fetch first")
        await refresher.loggedOut(2)
        late.fulfill()
        await #expect(throws: CancellationError.self) { _ = try await answer.value }
        _ = try await refresher.credentials(for: request, login: 2)
        #expect(run.fetches == ["fetch first", "fetch first"])
    }

    @Test(arguments: [true, false])
    func `a failure after the log-out, or that nobody waits for, is no failure of the next fetch`(
        isLogOut: Bool
    ) async throws {
        let late = Promise<Void>()
        let run = Run([.later(late, .fails), .token(500)])
        try await run.begin()
        let (refresher, request) = (
            run.tokens.refresher, CredentialRequest(url: try ConnectionURL("scripted://server"), reason: .first)
        )
        let answer = Task { try await refresher.credentials(for: request, login: 1) }
        try await run.wait("fetch first")
        if isLogOut { await refresher.loggedOut(2) } else { answer.cancel() }
        late.fulfill()
        await #expect(throws: (any Error).self) { _ = try await answer.value }
        _ = try await refresher.credentials(for: request, login: isLogOut ? 2 : 1)
        try await run.wait("refreshed 500 1")
        await run.end()
    }

    @Test
    func `failures of a former user are not counted for the next one`() async throws {
        let run = Run([.fails, .token(500)])
        try await run.begin()
        let request = CredentialRequest(url: try ConnectionURL("scripted://server"), reason: .first)
        await #expect(throws: LinkspanError.self) {
            _ = try await run.tokens.refresher.credentials(for: request, login: 1)
        }
        _ = try await run.tokens.refresher.credentials(for: request, login: 2)
        try await run.wait("refreshed 500 1")
        await run.end()
    }

    @Test
    func `each revocation is reported that a token comes between`() async throws {
        let run = Run([.revoked, .token(600), .revoked])
        try await run.begin()
        for reason in [.first, .first, .refused] as [CredentialRequest.Reason] {
            let request = CredentialRequest(url: try ConnectionURL("scripted://server"), reason: reason)
            _ = try? await run.tokens.refresher.credentials(for: request, login: 1)
        }
        try await run.wait("revoked", "refreshed 600 1", "revoked")
        await run.end()
    }

    @Test
    func `a refusal of the former user's token does not take that of the present one`() async throws {
        let run = Run([.token(600), .token(600)])
        let request = CredentialRequest(url: try ConnectionURL("scripted://server"), reason: .first)
        _ = try await run.tokens.refresher.credentials(for: request, login: 2)
        await run.tokens.refresher.refused(login: 1)
        _ = try await run.tokens.refresher.credentials(for: request, login: 2)
        #expect(run.fetches == ["fetch first", "fetch expiring"])
    }

    @Test
    func `of two services the latter renews, by its own timing, and the former's events end`() async throws {
        let run = Run([.token(600)])
        let former = try await run.begin(lead: 60)
        try run.ask(.first)
        try await run.wait("refreshed 600 1", "answer 600")
        await run.apply(lead: 200)
        let other = TokenRefreshService(run.tokens, options: .init(lead: .seconds(100), jitter: .zero))
        await run.tokens.refresher.start(other.options.timing, of: other.owner, run.tokens.credentials)
        #expect(await run.due() == 500)
        await former.value
        await run.tokens.refresher.stop(other.owner)
    }

    @Test
    func `a service that stops leaves no timer, and gives a renewal up that is under way`() async throws {
        let late = Promise<Void>()
        let run = Run([.token(600)])
        try await run.begin()
        try run.ask(.first)
        try await run.wait("refreshed 600 1", "answer 600")
        let before = run.scheduler.pendingCount
        await run.end()
        #expect(run.scheduler.pendingCount == before - 1)
        try await run.begin()
        run.next(.later(late, .token(600)))
        run.pass(540)
        try await run.wait("fetch expiring")
        await run.end()
        try await eventually { run.scheduler.pendingCount < before }
        late.fulfill()
    }

    @Test
    func `a token that comes after the log-out is not kept, and nothing is renewed for the user`() async throws {
        let late = Promise<Void>()
        let run = Run([.token(600), .later(late, .token(600))])
        try await run.begin()
        try run.ask(.first)
        try await run.wait("refreshed 600 1", "answer 600")
        run.pass(540)
        try await run.wait("fetch expiring")
        run.tokens.credentials.forget()()
        late.fulfill()
        run.pass(5_000)
        #expect(run.fetches.count == 2)
        run.next(.fails)
        try run.ask(.retry)
        try await run.wait("fetch first", "fetch first", "answer credentialsUnavailable")
        #expect(await run.due() == nil)
        await run.end()
    }

    @Test
    func `a renewal that a log-out has failed is not asked for anew, even if the log-out is told later`() async throws {
        let run = Run([.token(600), .later(Promise<Void>(), .token(600)), .token(600)])
        try await run.begin()
        try run.ask(.first)
        try await run.wait("refreshed 600 1", "answer 600")
        run.pass(540)
        try await run.wait("fetch expiring")
        await run.tokens.refresher.renewalFailed(1)
        #expect(await run.due() == nil)
        #expect(run.fetches.count == 2)
        await run.end()
    }

    @Test
    func `a failed renewal says how many log-outs there were, the one that has failed it included`() async throws {
        let run = Run([.later(Promise<Void>(), .fails)])
        let login = Promise<UInt64>()
        let url = try ConnectionURL("scripted://server")
        _ = run.tokens.credentials.renew(url, scheduler: run.scheduler) { login.fulfill($0) }
        run.tokens.credentials.forget()()
        #expect(await login.value == 1)
    }
}
