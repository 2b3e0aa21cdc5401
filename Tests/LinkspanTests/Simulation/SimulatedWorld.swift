@testable import Linkspan
internal import LinkspanLock
internal import LinkspanTesting

/// One random run of a client, a server and the network between them, repeatable by its seed.
///
/// Everything runs on one thread over virtual time. The app sends, requests, delivers, cancels, connects and disconnects
/// at random; the path comes and goes, and so does the app; links are refused, hang, die, go deaf, fill up, and are slow;
/// the server applies what arrives. Then the faults end, everything gets time to drain, and the connection is given back.
struct SimulatedWorld {
    /// What was called, what became of it, and what the server saw.
    private(set) var history = History()
    private let scheduler = VirtualScheduler()
    private let chance: Chance
    private let book: Lock<History>
    private let transport: ScriptedTransport
    private let manager: ConnectionManager
    private let faultyUntil: Duration

    /// Makes a world.
    ///
    /// - Parameters:
    ///   - seed: decides everything.
    ///   - duration: how long faults happen.
    init(seed: UInt64, duration: Duration = .seconds(600)) {
        let chance = Chance(seed: seed)
        let scheduler = self.scheduler
        self.chance = chance
        self.book = Lock(History())
        self.faultyUntil = duration
        self.transport = ScriptedTransport(scheduler: scheduler) { _ in
            scheduler.elapsed < duration ? chance.script() : .delaying(by: .milliseconds(5))
        }
        self.manager = ConnectionManager(scheduler: scheduler, random: { chance.fraction() })
    }

    /// Runs to the end.
    mutating func run() throws {
        let handler = try ConnectionBuilder("scripted://server").transport(self.transport)
            .options {
                $0.buffer = BufferLimits(
                    commands: 50, overflow: self.chance.element([.refuse, .dropOldest, .dropNewest]))
                $0.deliveries.commands = 50
            }.connect(by: self.manager)
        self.serve()
        _ = handler.onStateChange { [book, scheduler] change in
            book.withLock { $0.record(change, at: scheduler.elapsed) }
        }
        while self.scheduler.elapsed < self.faultyUntil {
            self.scheduler.advance(by: .milliseconds(self.chance.number(0...4_000)))
            for _ in 0..<self.chance.number(0...3) { self.act(on: handler) }
        }
        self.heal(handler)
        self.scheduler.advance(by: .seconds(180))
        self.book.withLock { $0.isQuiet = true }
        handler.release()
        self.scheduler.advance(by: .seconds(30))
        self.history = self.book.withLock { $0 }
        self.history.sent = self.transport.sent.map(\.event)
        self.history.leftOver = self.manager.statistics.count + self.transport.openPeers.count
    }

    private func serve() {
        let (book, chance, scheduler, limit) = (self.book, self.chance, self.scheduler, self.faultyUntil)
        self.transport.onMessage { message in
            book.withLock { $0.applied(message.event, link: message.peer.number, at: scheduler.elapsed) }
            // Sometimes the server forgets to answer, sometimes it dies having applied.
            let fate = scheduler.elapsed < limit ? chance.number(0...99) : 99
            if fate < 3 { return }
            if fate < 5 { return message.peer.drop() }
            message.reply()
            if fate < 8 { message.reply() }
        }
    }

    private func act(on handler: ConnectionHandler) {
        switch self.chance.number(0...102) {
        case 0..<35: self.perform(.send, on: handler)
        case 35..<60: self.perform(.request, on: handler)
        case 60..<88: self.perform(.deliver(lane: "lane\(self.chance.number(0...2))"), on: handler)
        case 88..<93: self.cancelSomething(on: handler)
        case 93..<95: try? handler.disconnect()
        case 95..<98: try? handler.connect()
        case 100...: self.manager.signal(self.chance.element(KeeperSignal.allCases))
        default: self.transport.openPeers.last?.read()
        }
    }

    private func perform(_ kind: Command.Kind, on handler: ConnectionHandler) {
        let name = self.book.withLock { $0.nextName(kind) }
        let timeout: Duration? =
            kind == .send && self.chance.number(0...1) == 0 ? nil : .seconds(self.chance.number(1...90))
        let command = Command(
            kind, event: name, payload: .json("\"\(name)\""), timeout: timeout,
            isVolatile: kind == .send && self.chance.number(0...9) == 0
        ) { [book, scheduler] outcome in
            book.withLock { $0.ended(name, outcome, at: scheduler.elapsed) }
        }
        self.book.withLock { $0.called(name, command) }
        do {
            try handler.perform(command)
        } catch {
            self.book.withLock { $0.refused(name, error, at: self.scheduler.elapsed) }
        }
    }

    private func cancelSomething(on handler: ConnectionHandler) {
        let ids = self.book.withLock { history in
            history.calls.filter { $0.outcomes == 0 && !$0.wasRefused }.map(\.id)
        }
        if !ids.isEmpty { handler.cancel(self.chance.element(ids)) }
    }

    /// Ends all faults: what is broken is found out, and what was taken down by request comes back.
    private func heal(_ handler: ConnectionHandler) {
        for peer in self.transport.openPeers { peer.drop() }
        self.manager.signal(.foreground)
        self.scheduler.advance(by: .seconds(30))
        try? handler.connect()
    }
}

/// The source of all chance in one world.
final class Chance: Sendable {
    private let generator: Lock<DeterministicGenerator>

    init(seed: UInt64) { self.generator = Lock(DeterministicGenerator(seed: seed)) }

    func number(_ range: ClosedRange<Int>) -> Int { self.generator.withLock { .random(in: range, using: &$0) } }

    func fraction() -> Double { self.generator.withLock { .random(in: 0..<1, using: &$0) } }

    func element<Element>(_ elements: [Element]) -> Element { elements[self.number(0...elements.count - 1)] }

    /// What a link goes through while faults happen.
    func script() -> LinkScript {
        switch self.number(0...9) {
        case 0: return .refusing(LinkspanError(.connectionLost, "refused"))
        case 1: return .hanging
        default: ()
        }
        return .defaults { script in
            let slowness = self.number(0...500)
            script.openingDelay = .milliseconds(self.number(0...3_000))
            script.delayToServer = { .milliseconds(self.number(0...slowness)) }
            script.delayToClient = { .milliseconds(self.number(0...slowness)) }
            script.dropsAfter = .milliseconds(self.number(0...120_000))
            if self.number(0...4) == 0 { script.dropsAfterMessages = self.number(1...20) }
            if self.number(0...9) == 0 { script.isHalfOpenAfter = .milliseconds(self.number(0...60_000)) }
            if self.number(0...9) == 0 { script.isDeaf = true }
            if self.number(0...4) == 0 { script.capacity = self.number(1...5) }
            script.outlivesDrop = self.number(0...4) == 0
            script.speaksAfterDrop = self.number(0...4) == 0
            script.copiesOfReplies = self.number(0...4) == 0 ? 2 : 1
        }
    }
}
