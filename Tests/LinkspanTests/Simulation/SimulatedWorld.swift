internal import LinkspanRuntime
internal import LinkspanTesting
internal import Logging

@testable import Linkspan

/// One random run of a client, a server and the network between them, repeatable by its seed.
///
/// Everything runs on one thread over virtual time. The app sends, requests, delivers, cancels, connects and
/// disconnects at random, some of it from inside an outcome; the path comes and goes, and so does the app; some worlds
/// greet their links, some have a provider of credentials, one in four a store that commits deliveries late, in another
/// order or not at all. Links are refused, hang, die, go deaf, fill up, reject, and
/// are slow; the server applies what arrives. Then the faults end, everything gets time to drain, and the connection is
/// given back.
struct SimulatedWorld {
    /// What was called, what became of it, and what the server saw.
    private(set) var history = History()
    private let scheduler = VirtualScheduler()
    private let chance: Chance
    private let book: Lock<History>
    private let transport: ScriptedTransport
    private let manager: ConnectionManager
    private let faultyUntil: Duration
    /// By the seed alone, so that the other worlds are what they are without it.
    private let store: MemoryDeliveryStore?
    /// What the connection was made by.
    private let plan = Lock<ConnectionConfiguration?>(nil)

    /// Makes a world.
    ///
    /// - Parameters:
    ///   - seed: decides everything.
    ///   - duration: how long faults happen.
    init(seed: UInt64, duration: Duration = .seconds(600)) {
        let chance = Chance(seed: seed)
        let scheduler = self.scheduler
        let book = Lock(History())
        self.chance = chance
        self.book = book
        self.faultyUntil = duration
        self.store = seed % 4 == 3 ? MemoryDeliveryStore(executor: self.scheduler.executor) : nil
        self.store?.onCommit { _, decide in
            let isFaulty = scheduler.elapsed < duration
            let error: LinkspanError? = isFaulty && chance.isOne(in: 40) ? LinkspanError(.notKept, "disk full") : nil
            let delay = isFaulty && chance.isOne(in: 10) ? chance.number(0...20_000) : chance.number(0...20)
            scheduler.schedule(after: .milliseconds(delay)) { decide(error) }
        }
        self.transport = ScriptedTransport(scheduler: scheduler) { link in
            let isFaulty = scheduler.elapsed < duration
            var script = isFaulty ? chance.script() : .delaying(by: .milliseconds(5))
            if script.capacity != nil { book.withLock { _ = $0.slowLinks.insert(link) } }
            // Asked last: what is not rejected is taken.
            script.rejects = { message in
                let isOfGreeting = message.event == "hello" || message.event == "login"
                if isFaulty, !isOfGreeting, chance.isOne(in: 200) {
                    return LinkspanError(.messageTooLarge, "too large")
                }
                book.withLock {
                    $0.taken(message.event, link: link, requestID: message.requestID, at: scheduler.elapsed)
                }
                return nil
            }
            return script
        }
        self.manager = ConnectionManager(
            options: .init {
                $0.scheduler = scheduler
                $0.random = { chance.fraction() }
                $0.logger = Logger(label: "simulation", factory: { _ in SwiftLogNoOpLogHandler() })
            })
    }

    private var isFaulty: Bool { self.scheduler.elapsed < self.faultyUntil }

    /// Runs to the end.
    mutating func run() throws {
        let world = self
        try SimulatedTasks.run(on: self.scheduler) { try world.live() }
        self.history = self.book.withLock { $0 }
        let waiting = self.store?.rows.count { $0.outcome == nil } ?? 0
        self.history.leftOver = self.manager.statistics.count + self.transport.openPeers.count + waiting
    }

    private func live() throws {
        let handler = try self.connect()
        while self.isFaulty {
            self.scheduler.advance(by: .milliseconds(self.chance.number(0...4_000)))
            for _ in 0..<self.chance.number(0...3) { self.act(on: handler) }
        }
        self.heal(handler)
        self.scheduler.advance(by: .seconds(180))
        self.book.withLock { $0.becameQuiet(handler.state) }
        handler.release()
        self.scheduler.advance(by: .seconds(30))
    }

    private func connect() throws -> ConnectionHandler {
        let isGreeted = SimulatedTasks.isPossible && self.chance.isOne(in: 3)
        let isProvided = SimulatedTasks.isPossible && self.chance.isOne(in: 3)
        let configuration = try ConnectionBuilder("scripted://server").transport(self.transport)
            .credentials(isProvided ? self.credentials(of: self.store == nil ? nil : "user") : .none)
            .options {
                self.chance.configure(&$0)
                $0.store = self.store
                if isGreeted { $0.greeting = self.greeting }
            }.build()
        self.book.withLock {
            $0.deliveries = configuration.options.deliveries
            $0.mustGreet = isGreeted
            $0.isPaced = configuration.options.flush != FlushPacing()
        }
        self.serve(demanding: isProvided)
        self.plan.withLock { $0 = configuration }
        let handler = try self.manager.connect(configuration)
        _ = handler.onStateChange { [book, scheduler] change in
            book.withLock { $0.record(change, at: scheduler.elapsed) }
        }
        if self.chance.isOne(in: 4) { try handler.onAnyOutgoing { _ in } }
        return handler
    }

    /// Ends all faults: what is broken is found out, and what was taken down by request comes back.
    private func heal(_ handler: ConnectionHandler) {
        for peer in self.transport.openPeers { peer.drop() }
        self.manager.signal(.foreground)
        self.scheduler.advance(by: .seconds(30))
        try? handler.connect()
    }
}

// MARK: - The server

extension SimulatedWorld {
    private func serve(demanding credentials: Bool) {
        let (book, chance, scheduler, limit) = (self.book, self.chance, self.scheduler, self.faultyUntil)
        if credentials {
            self.transport.onConnect { _ throws(LinkspanError) in
                guard scheduler.elapsed < limit, chance.isOne(in: 15) else { return }
                throw LinkspanError(.credentialsRefused, "refused")
            }
        }
        self.transport.onMessage { message in
            book.withLock { $0.applied(message.event, link: message.peer.number, at: scheduler.elapsed) }
            // Sometimes the server forgets to answer, sometimes it dies having applied.
            let fate = scheduler.elapsed < limit ? chance.number(0...99) : 99
            if fate < 3 { return }
            if fate < 5 { return message.peer.drop() }
            let reply = Payload.json("\"\(message.event)\"")
            message.reply(reply)
            if fate < 8 { message.reply(reply) }
        }
    }

    /// Says hello and signs in; sometimes gives the link up, sometimes takes too long.
    private var greeting: Greeting {
        let (book, chance, scheduler, limit) = (self.book, self.chance, self.scheduler, self.faultyUntil)
        return Greeting("simulated", deadline: .seconds(self.chance.number(2...10))) { channel in
            try channel.send("hello")
            let link = book.withLock { $0.taken.last?.link }
            _ = try await channel.request("login", timeout: .seconds(5))
            if scheduler.elapsed < limit, chance.isOne(in: 10) {
                throw LinkspanError(chance.element([.connectionLost, .credentialsRefused]), "not this link")
            }
            if let link { book.withLock { $0.greeted(link: link, at: scheduler.elapsed) } }
        }
    }

    /// Gives tokens for a while; sometimes fails, sometimes never answers.
    private func credentials(of account: String?) -> CredentialSource {
        let (chance, scheduler, limit) = (self.chance, self.scheduler, self.faultyUntil)
        return .provider(account: account) { _ in
            if scheduler.elapsed < limit {
                if chance.isOne(in: 10) { throw LinkspanError(.connectionLost, "no token") }
                if chance.isOne(in: 20) {
                    let never = Promise<Void>()
                    await withTaskCancellationHandler {
                        await never.value
                    } onCancel: {
                        never.fulfill()
                    }
                    throw CancellationError()
                }
            }
            let lifetime: Duration? = chance.isOne(in: 2) ? .seconds(chance.number(10...120)) : nil
            return Credentials(auth: .json("\"token\""), validFor: lifetime)
        }
    }
}

// MARK: - The app

extension SimulatedWorld {
    private func act(on handler: ConnectionHandler) {
        switch self.chance.number(0...110) {
        case 0..<33: self.perform(.send, on: handler)
        case 33..<58: self.perform(.request, on: handler)
        case 58..<86: self.perform(self.delivery, on: handler)
        case 86..<91: self.cancelSomething(on: handler)
        case 91..<93: self.cancelCommands(on: handler)
        case 93..<95: try? handler.disconnect()
        case 95..<98: try? handler.connect()
        case 98..<101: self.manager.signal(self.chance.element(KeeperSignal.allCases))
        case 101..<103: self.burst(on: handler)
        case 108..<110: self.move(handler)
        case 110: self.adjust(handler)
        default: self.transport.openPeers.last?.read()
        }
    }

    private var delivery: Command.Kind { .deliver(orderingKey: "room\(self.chance.number(0...2))") }

    /// To the other of two addresses of the same server.
    private func move(_ handler: ConnectionHandler) {
        guard let plan = self.plan.withLock({ $0 }) else { return }
        let text = handler.status.url.text.hasSuffix("elsewhere") ? "scripted://server" : "scripted://server/elsewhere"
        guard let url = try? ConnectionURL(text) else { return }
        let next = ConnectionConfiguration(
            url: url, transport: plan.transport, options: plan.sharedOptions, credentials: plan.credentials)
        // Refused only when it is released.
        _ = try? self.manager.move(handler, to: next)
    }

    private func adjust(_ handler: ConnectionHandler) {
        guard var options = self.plan.withLock({ $0 })?.options else { return }
        options.buffer.commands = self.chance.number(5...80)
        options.retry = self.chance.element([.standard, .backoff(limit: 200)])
        _ = try? self.manager.adjust(handler, options)
    }

    /// More at once than a turn of a flush takes, and sometimes than there is room for.
    private func burst(on handler: ConnectionHandler) {
        for _ in 0..<self.chance.number(5...40) {
            self.perform(self.chance.element([.send, .send, .request, self.delivery]), on: handler)
        }
    }

    private func perform(_ kind: Command.Kind, on handler: ConnectionHandler) {
        let name = self.book.withLock { $0.nextName(kind) }
        let command = Command(
            kind, event: name, payload: .json("\"\(name)\""), timeout: self.timeout(of: kind),
            isVolatile: kind == .send && self.chance.isOne(in: 10)
        ) { [weak handler] outcome in
            self.book.withLock { $0.ended(name, outcome, at: self.scheduler.elapsed) }
            if let handler, self.isFaulty, self.chance.isOne(in: 30) { self.react(on: handler) }
        }
        self.book.withLock { $0.called(name, command, at: self.scheduler.elapsed) }
        do {
            try handler.perform(command)
        } catch {
            self.book.withLock { $0.refused(name, error, at: self.scheduler.elapsed) }
        }
    }

    private func timeout(of kind: Command.Kind) -> Duration? {
        // A request without a limit waits as long as its link lives.
        let odds = kind == .send ? 2 : kind == .request ? 6 : 3
        return self.chance.isOne(in: odds) ? nil : .seconds(self.chance.number(1...90))
    }

    /// What an app does when it hears of an outcome.
    private func react(on handler: ConnectionHandler) {
        switch self.chance.number(0...9) {
        case 0..<4: self.perform(.request, on: handler)
        case 4..<6: self.perform(self.delivery, on: handler)
        case 6..<9: self.cancelSomething(on: handler)
        default: try? handler.disconnect()
        }
    }

    private func cancelSomething(on handler: ConnectionHandler) {
        let ids = self.book.withLock { $0.calls.filter(\.isOpen).map(\.id) }
        if !ids.isEmpty { handler.cancel(self.chance.element(ids)) }
    }

    private func cancelCommands(on handler: ConnectionHandler) {
        let stage = self.chance.element([Command.Stage.waiting, .interrupted, .underWay])
        let orderingKey = self.delivery
        switch self.chance.number(0...2) {
        case 0: handler.cancelCommands { $0.stage == stage }
        case 1: handler.cancelCommands { $0.kind == orderingKey }
        default: handler.cancelCommands { $0.kind == .request && $0.stage == stage }
        }
    }
}

/// The source of all chance in one world.
final class Chance: Sendable {
    private let generator: Lock<SeededGenerator>

    init(seed: UInt64) { self.generator = Lock(SeededGenerator(seed: seed)) }

    func number(_ range: ClosedRange<Int>) -> Int { self.generator.withLock { .random(in: range, using: &$0) } }

    func fraction() -> Double { self.generator.withLock { .random(in: 0..<1, using: &$0) } }

    func element<Element>(_ elements: [Element]) -> Element { elements[self.number(0...elements.count - 1)] }

    /// True once in so many times.
    func isOne(in count: Int) -> Bool { self.number(1...count) == 1 }

    /// What a link goes through while faults happen.
    func script() -> LinkScript {
        switch self.number(0...9) {
        case 0: return .refusing(LinkspanError(.connectionLost, "refused"))
        case 1: return .hanging
        default: ()
        }
        return .init { script in
            // Some are so slow that a former link's words come when the next is up.
            let slowness = self.isOne(in: 8) ? self.number(0...8_000) : self.number(0...500)
            script.openingDelay = .milliseconds(self.number(0...3_000))
            script.delayToServer = { .milliseconds(self.number(0...slowness)) }
            script.delayToClient = { .milliseconds(self.number(0...slowness)) }
            script.dropsAfter = .milliseconds(self.number(0...120_000))
            if self.isOne(in: 5) { script.dropsAfterMessages = self.number(1...20) }
            if self.isOne(in: 10) { script.isHalfOpenAfter = .milliseconds(self.number(0...60_000)) }
            if self.isOne(in: 10) { script.isDeaf = true }
            if self.isOne(in: 5) { script.capacity = self.number(1...5) }
            script.outlivesDrop = self.isOne(in: 5)
            script.speaksAfterDrop = self.isOne(in: 5)
            script.copiesOfReplies = self.isOne(in: 5) ? 2 : 1
            script.showsRenewals = self.isOne(in: 2)
        }
    }

    /// How a connection behaves.
    func configure(_ options: inout ConnectionOptions) {
        options.buffer = BufferLimits(
            commands: self.number(5...80), overflow: self.element([.refuse, .dropOldest, .dropNewest]))
        options.deliveries = DeliveryOptions(
            commands: 50, repeatAfter: .seconds(self.number(2...20)),
            attempts: self.isOne(in: 3) ? self.number(2...6) : nil, keyPlacement: self.element([.none, .lastArgument]))
        if self.isOne(in: 2) {
            options.flush = FlushPacing(
                commands: self.number(1...8), bytes: self.number(20...2_000), pause: .milliseconds(self.number(0...500))
            )
        }
    }
}
