@testable import Linkspan
internal import LinkspanTesting
internal import LinkspanRuntime
internal import Testing

@Suite("The state machine of shared credentials")
struct SharedCredentialsTests {
    private static let one = "wss://server/one"
    private static let two = "wss://server/two"

    @Test(arguments: [CredentialRequest.Reason.first, .retry, .expiring, .refused])
    func `a connection that was made before a log-out gets nothing, and asks nobody`(
        reason: CredentialRequest.Reason
    ) throws {
        var desk = Run()
        try desk.ask(Self.one, .first)
        desk.answer(1, Credentials(validFor: .seconds(100)))
        desk.forget()
        let former = try desk.ask(Self.one, reason, login: 0)
        #expect(desk.failures(of: former) == 1)
        #expect(desk.calls.count == 1)
        // The next user is asked for anew.
        let next = try desk.ask(Self.one, .first)
        #expect(desk.calls.count == 2)
        #expect(desk.answers(of: next) == 0)
    }

    @Test
    func `what is known of a server can be forgotten when nobody waits and nothing is trusted`() {
        let now = Moment.now
        var queue = CredentialQueue()
        #expect(queue.isIdle(at: now))
        queue.keep(IssuedCredentials(credentials: Credentials(), generation: 1, issuedAt: now, reason: .refused))
        #expect(!queue.isIdle(at: now) && queue.isIdle(at: now + .seconds(61)))
    }

    @Test
    func `requests during a call share its answer`() throws {
        var desk = Run()
        let waiters = try [Self.one, Self.two, Self.one].map { try desk.ask($0, .first) }
        #expect(desk.calls.map(\.reason) == [.first])
        desk.answer(1)
        for waiter in waiters { #expect(desk.generations(of: waiter) == [1]) }
        #expect(desk.generations(of: try desk.ask(Self.one, .retry)) == [], "of unknown lifetime, so asked for again")
        #expect(desk.calls.map(\.reason) == [.first, .retry])
    }

    @Test
    func `credentials that say how long they are good are used again for four fifths of that time`() throws {
        var desk = Run()
        try desk.ask(Self.one, .first)
        desk.answer(1, Credentials(validFor: .seconds(100)))
        desk.now += .seconds(79)
        #expect(desk.generations(of: try desk.ask(Self.two, .first)) == [1])
        #expect(desk.calls.count == 1)
        desk.now += .seconds(1)
        try desk.ask(Self.two, .retry)
        #expect(desk.calls.count == 2)
    }

    @Test
    func `a source that has gone leaves its place in no table to a later one`() {
        // Their addresses repeat.
        let hashes = Set((0..<100).map { _ in CredentialSource.provider { _ in Credentials() }.hashValue })
        #expect(hashes.count == 100)
    }

    @Test(arguments: [Duration.zero, .seconds(-1)])
    func `credentials with no time left are not used again`(validFor: Duration) throws {
        var desk = Run()
        try desk.ask(Self.one, .first)
        desk.answer(1, Credentials(validFor: validFor))
        try desk.ask(Self.one, .first)
        #expect(desk.calls.count == 2)
    }

    @Test(arguments: ["ws://server/one", "wss://other/one", "wss://server:4443/one"])
    func `another server never gets what is meant for this one`(other: String) throws {
        var desk = Run()
        try desk.ask(Self.one, .first)
        let stranger = try desk.ask(other, .first)
        try #require(desk.calls.map(\.url.text) == [Self.one, other])
        desk.answer(1, Credentials(validFor: .seconds(100)))
        #expect(desk.generations(of: stranger) == [])
        desk.answer(2)
        #expect(desk.generations(of: stranger) == [2])
    }

    @Test
    func `connections refused together share one renewal, and so do later ones`() throws {
        var desk = Run()
        for _ in 1...3 { try desk.ask(Self.one, .first) }
        desk.answer(1)
        let early = try (1...2).map { _ in try desk.ask(Self.one, .refused, held: 1) }
        #expect(desk.calls.map(\.reason) == [.first, .refused])
        desk.answer(2)
        for waiter in early { #expect(desk.generations(of: waiter) == [2]) }
        #expect(desk.generations(of: try desk.ask(Self.one, .refused, held: 1)) == [2])
        #expect(desk.calls.count == 2)
        try desk.ask(Self.one, .refused, held: 2)
        #expect(desk.calls.map(\.reason) == [.first, .refused, .refused], "those of the renewal are refused, too")
    }

    @Test
    func `the outcome of a renewal is not trusted for ever`() throws {
        var desk = Run()
        try desk.ask(Self.one, .refused, held: 0)
        desk.answer(1)
        desk.now += .seconds(59)
        #expect(desk.generations(of: try desk.ask(Self.one, .refused, held: 0)) == [1])
        desk.now += .seconds(1)
        try desk.ask(Self.one, .refused, held: 0)
        #expect(desk.calls.count == 2)
    }

    @Test
    func `an answer given before the refusal was known is no renewal`() throws {
        var desk = Run()
        try desk.ask(Self.one, .first)
        desk.answer(1, Credentials(validFor: .seconds(100)))
        desk.now += .seconds(80)
        try desk.ask(Self.two, .first)
        let refused = try desk.ask(Self.one, .refused, held: 1)
        #expect(desk.calls.map(\.reason) == [.first, .first], "not two calls at a time")
        desk.answer(2, Credentials(validFor: .seconds(100)))
        #expect(desk.generations(of: refused) == [])
        #expect(desk.calls.map(\.reason) == [.first, .first, .refused])
        let another = try desk.ask(Self.two, .first)
        desk.answer(3)
        #expect(desk.generations(of: refused) == [3])
        #expect(desk.generations(of: another) == [3], "refused ones are not used again")
    }

    @Test
    func `the refused are heard before those whose credentials expire`() throws {
        var desk = Run()
        try desk.ask(Self.one, .first)
        let expiring = try desk.ask(Self.one, .expiring, held: 0)
        let refused = try desk.ask(Self.two, .refused, held: 0)
        desk.fail(1)
        #expect(desk.calls.map(\.reason) == [.first, .refused])
        desk.answer(2)
        for waiter in [expiring, refused] { #expect(desk.generations(of: waiter) == [1]) }
    }

    @Test
    func `credentials that expire are exchanged for newer ones that are there already`() throws {
        var desk = Run()
        try desk.ask(Self.one, .first)
        desk.answer(1, Credentials(validFor: .seconds(100)))
        desk.now += .seconds(80)
        try desk.ask(Self.one, .expiring, held: 1)
        desk.answer(2, Credentials(validFor: .seconds(100)))
        #expect(desk.generations(of: try desk.ask(Self.two, .expiring, held: 1)) == [2])
        #expect(desk.calls.map(\.reason) == [.first, .expiring])
    }

    @Test
    func `a call is cancelled when its last waiter has left, and its answer is dropped`() throws {
        var desk = Run()
        let waiters = try (1...3).map { _ in try desk.ask(Self.one, .first) }
        desk.leave(waiters[0])
        desk.leave(waiters[1])
        #expect(desk.cancelled == 0)
        desk.leave(waiters[2])
        #expect(desk.cancelled == 1)
        let next = try desk.ask(Self.one, .retry)
        desk.answer(1)
        #expect(waiters.flatMap { desk.generations(of: $0) } == [])
        #expect(desk.generations(of: next) == [])
        desk.answer(2)
        #expect(desk.generations(of: next) == [1])
    }

    @Test
    func `a waiter behind a cancelled call gets a call of its own, unless it has left`() throws {
        var desk = Run()
        let first = try desk.ask(Self.one, .first)
        let gone = try desk.ask(Self.one, .refused, held: 0)
        let behind = try desk.ask(Self.one, .expiring, held: 0)
        desk.leave(gone)
        desk.leave(first)
        #expect(desk.cancelled == 1)
        #expect(desk.calls.map(\.reason) == [.first, .expiring])
        desk.answer(2)
        #expect(desk.generations(of: behind) == [1])
        #expect(desk.generations(of: gone) == [])
    }

    @Test
    func `a failure reaches all who wait, and is not remembered`() throws {
        var desk = Run()
        let waiters = try [Self.one, Self.two].map { try desk.ask($0, .first) }
        desk.fail(1)
        for waiter in waiters { #expect(desk.failures(of: waiter) == 1) }
        try desk.ask(Self.one, .retry)
        #expect(desk.calls.count == 2)
    }

    @Test
    func `credentials that name a URL are for one endpoint alone`() throws {
        var desk = Run()
        let first = try desk.ask(Self.one, .first)
        let same = try desk.ask(Self.one, .first)
        let others = try (1...2).map { _ in try desk.ask(Self.two, .first) }
        let signed = Credentials(url: try ConnectionURL("wss://eu.server/one?signature=1"), validFor: .seconds(100))
        desk.answer(1, signed)
        for waiter in [first, same] { #expect(desk.generations(of: waiter) == [1]) }
        for waiter in others { #expect(desk.generations(of: waiter) == []) }
        #expect(desk.calls.map(\.url.text) == [Self.one, Self.two])
        desk.answer(2)
        for waiter in others { #expect(desk.generations(of: waiter) == [2]) }
        #expect(desk.generations(of: try desk.ask(Self.one, .retry)) == [1])
        try desk.ask(Self.two, .retry)
        #expect(desk.calls.count == 3)
    }

    @Test(arguments: 0..<100)
    func `whatever happens, each gets one answer unless it has left, and no two calls are under way`(seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        var desk = Run()
        var waiting: [UInt64] = []
        var left: Set<UInt64> = []
        let urls = [Self.one, Self.two, "wss://other/"]
        for _ in 0..<400 {
            desk.now += .seconds(Int.random(in: 0...20, using: &generator))
            let reasons: [CredentialRequest.Reason] = [.first, .retry, .refused, .expiring]
            switch Int.random(in: 0..<10, using: &generator) {
            case 0..<5:
                let held = UInt64.random(in: 0...desk.generation, using: &generator)
                waiting.append(
                    try desk.ask(
                        urls.randomElement(using: &generator) ?? Self.one,
                        reasons.randomElement(using: &generator) ?? .first, held: held))
            case 5, 6:
                guard let waiter = waiting.randomElement(using: &generator) else { continue }
                if desk.answers(of: waiter) == 0 { left.insert(waiter) }
                desk.leave(waiter)
            case 7:
                if let call = desk.underWay.randomElement(using: &generator) { desk.fail(id: call) }
            default:
                guard let call = desk.underWay.randomElement(using: &generator) else { continue }
                let url = Bool.random(using: &generator) && seed.isMultiple(of: 2)
                desk.answer(
                    id: call,
                    Credentials(
                        url: url ? try ConnectionURL("wss://region/") : nil,
                        validFor: Bool.random(using: &generator) ? .seconds(100) : nil))
            }
            let callers = desk.underWay.compactMap { desk.requests[$0]?.url.host }
            if !seed.isMultiple(of: 2) { #expect(Set(callers).count == callers.count, "two calls for one server") }
        }
        while let call = desk.underWay.first { desk.answer(id: call) }
        for waiter in waiting { #expect(desk.answers(of: waiter) == (left.contains(waiter) ? 0 : 1)) }
    }
}

/// Carries out what the machine decides, on paper.
private struct Run {
    private struct Answers: Sendable {
        var generations: [UInt64: [UInt64]] = [:]
        var failures: [UInt64: Int] = [:]
    }

    var now = Moment.now
    private(set) var machine = SharedCredentials.StateMachine()
    private(set) var requests: [UInt64: CredentialRequest] = [:]
    /// The calls so far, by the order in which they were made.
    private(set) var order: [UInt64] = []
    private var tasks: [UInt64: Task<Void, Never>] = [:]
    private(set) var cancelled = 0
    private(set) var generation: UInt64 = 0
    private let answers = Lock(Answers())
    private var names: [UInt64: UInt64] = [:]
    private var lastName: UInt64 = 0

    /// The calls that are under way, by number.
    var underWay: [UInt64] { self.tasks.keys.sorted() }
    var calls: [CredentialRequest] { self.order.compactMap { self.requests[$0] } }

    @discardableResult
    mutating func ask(
        _ url: String, _ reason: CredentialRequest.Reason, held: UInt64 = 0, login: UInt64? = nil
    ) throws -> UInt64 {
        self.lastName += 1
        let (name, answers) = (self.lastName, self.answers)
        let request = CredentialRequest(url: try ConnectionURL(url), reason: reason)
        let login = login ?? self.machine.login
        let (id, actions) = self.machine.ask(request, login: login, held: held, now: self.now) { outcome in
            answers.withLock { answers in
                switch outcome {
                case .success(let issued): answers.generations[name, default: []].append(issued.generation)
                case .failure: answers.failures[name, default: 0] += 1
                }
            }
        }
        self.names[name] = id
        self.perform(actions)
        return name
    }

    mutating func forget() { _ = self.machine.forget() }

    mutating func leave(_ name: UInt64) {
        guard let id = self.names[name] else { return }
        self.perform(self.machine.leave(id, now: self.now))
    }

    /// Answers a call, counted from 1.
    mutating func answer(_ call: Int, _ credentials: Credentials = Credentials()) {
        self.answer(id: self.order[call - 1], credentials)
    }

    mutating func answer(id: UInt64, _ credentials: Credentials = Credentials()) {
        if self.tasks.removeValue(forKey: id) != nil { self.generation += 1 }
        self.perform(self.machine.answered(id, credentials, now: self.now))
    }

    mutating func fail(_ call: Int) { self.fail(id: self.order[call - 1]) }

    mutating func fail(id: UInt64) {
        self.tasks[id] = nil
        self.perform(self.machine.failed(id, .lost, now: self.now))
    }

    func generations(of name: UInt64) -> [UInt64] { self.answers.withLock { $0.generations[name] ?? [] } }

    func failures(of name: UInt64) -> Int { self.answers.withLock { $0.failures[name] ?? 0 } }

    func answers(of name: UInt64) -> Int { self.generations(of: name).count + self.failures(of: name) }

    private mutating func perform(_ actions: [SharedCredentials.StateMachine.Action]) {
        for action in actions {
            switch action {
            case .call(let id, let request, _):
                self.requests[id] = request
                self.order.append(id)
                let task = Task {}
                self.tasks[id] = task
                let isKept = self.machine.keep(task, for: id)
                #expect(isKept)
            case .cancel(let task):
                self.cancelled += 1
                self.tasks = self.tasks.filter { $0.value != task }
            case .answer(let waiters, let outcome):
                for waiter in waiters { waiter.answer(outcome) }
            }
        }
    }
}
