@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Logging
internal import Testing

@Suite("Identity in random worlds")
struct IdentityPropertyTests {
    @Test
    func `no message is ever sent on a link that was opened with another source's credentials`() throws {
        var (arrived, refused, moves, logOuts) = (0, 0, 0, 0)
        for seed in UInt64(0)..<300 {
            let world = IdentityWorld(seed: seed)
            try SimulatedTasks.run(on: world.scheduler) { try world.run() }
            let seen = world.seen.withLock { $0 }
            #expect(seen.strangers.isEmpty, "seed \(seed): \(seen.strangers.prefix(3))")
            guard seen.strangers.isEmpty else { return }
            (arrived, refused) = (arrived + seen.arrived, refused + seen.refused)
            (moves, logOuts) = (moves + seen.moves, logOuts + seen.logOuts)
        }
        // Otherwise nothing has been tried.
        #expect(arrived > 1_000 && refused > 100 && moves > 100 && logOuts > 100)
    }
}

/// Users who come and go, at random, over links that open late, drop and are slow to die.
private struct IdentityWorld {
    struct Seen: Sendable {
        var arrived = 0
        var refused = 0
        var moves = 0
        var logOuts = 0
        /// Messages on links of others.
        var strangers: [String] = []
    }

    let scheduler = VirtualScheduler()
    let seen = Lock(Seen())
    private let chance: Chance
    private let transport: ScriptedTransport
    private let manager: ConnectionManager
    private let sources: [(name: String, source: CredentialSource)]
    private let urls = ["scripted://server", "scripted://server/a", "scripted://server/b"]

    init(seed: UInt64) {
        let chance = Chance(seed: seed)
        self.chance = chance
        self.transport = ScriptedTransport(scheduler: self.scheduler) { _ in
            chance.isOne(in: 8)
                ? .hanging
                : .init { script in
                    script.openingDelay = .milliseconds(chance.number(0...800))
                    script.delayToServer = { .milliseconds(chance.number(0...300)) }
                    script.dropsAfter = .milliseconds(chance.number(0...20_000))
                    if chance.isOne(in: 4) { script.capacity = chance.number(1...3) }
                    script.outlivesDrop = chance.isOne(in: 3)
                    script.showsRenewals = chance.isOne(in: 2)
                }
        }
        self.manager = ConnectionManager(
            options: .init { [scheduler = self.scheduler] in
                $0.scheduler = scheduler
                $0.random = { chance.fraction() }
                $0.attempts = AttemptLimits(perSecond: 100, burst: 100)
                $0.logger = Logger(label: "identity", factory: { _ in SwiftLogNoOpLogHandler() })
            })
        var sources: [(name: String, source: CredentialSource)] = [
            ("", .none), ("ann", .fixed(.auth("ann"))), ("bob", .fixed(.auth("bob"))),
        ]
        if SimulatedTasks.isPossible {
            for name in ["cid", "dan"] {
                sources.append(
                    (
                        name,
                        .provider { _ in
                            Credentials(
                                auth: .json("\"\(name)\""),
                                validFor: chance.isOne(in: 2) ? .seconds(chance.number(2...60)) : nil)
                        }
                    ))
            }
        }
        self.sources = sources
    }

    func run() throws {
        let seen = self.seen
        self.transport.onMessage { message in
            let sender = (try? message.payload.decode(String.self)) ?? "?"
            let tokens =
                [message.peer.request.token] + message.peer.renewals.compactMap { $0.auth?[0]?.string.map { "\($0)" } }
            seen.withLock { seen in
                seen.arrived += 1
                guard tokens.allSatisfy({ $0 == sender }) else {
                    return seen.strangers.append("a message of '\(sender)' on a link of \(tokens)")
                }
            }
            message.reply(message.payload)
        }
        var handlers: [ConnectionHandler] = []
        /// Whose connection it is, as far as the app was told.
        var owners: [ObjectIdentifier: String] = [:]
        for _ in 0..<150 {
            let user = self.chance.element(self.sources)
            switch self.chance.number(0...19) {
            case 0..<4:
                guard let handler = try? self.configuration(user.source).connect(by: self.manager) else {
                    seen.withLock { $0.refused += 1 }
                    continue
                }
                owners[ObjectIdentifier(handler.connection)] = user.name
                handlers.append(handler)
            case 4..<6 where !handlers.isEmpty:
                handlers.remove(at: self.chance.number(0...handlers.count - 1)).release()
            case 6..<7 where !handlers.isEmpty:
                let handler = self.chance.element(handlers)
                guard (try? self.manager.move(handler, to: try self.configuration(user.source))) == true else {
                    seen.withLock { $0.refused += 1 }
                    continue
                }
                owners[ObjectIdentifier(handler.connection)] = user.name
                seen.withLock { $0.moves += 1 }
            case 7 where SimulatedTasks.isPossible && self.chance.isOne(in: 3):
                seen.withLock { $0.logOuts += 1 }
                // Nobody waits for it: the world goes on.
                Task { [manager] in await manager.logOut(user.source) }
            case 8 where !handlers.isEmpty:
                try? self.chance.isOne(in: 2)
                    ? self.chance.element(handlers).disconnect() : self.chance.element(handlers).connect()
            case 9: self.transport.openPeers.last?.drop()
            case 10: self.transport.openPeers.forEach { $0.read() }
            case 11..<15: self.scheduler.advance(by: .milliseconds(self.chance.number(0...4_000)))
            default:
                guard !handlers.isEmpty else { continue }
                let handler = self.chance.element(handlers)
                let owner = owners[ObjectIdentifier(handler.connection)] ?? "?"
                let kind = self.chance.element([Command.Kind.send, .request, .deliver(orderingKey: "room")])
                try? handler.perform(Command(kind, event: "message", payload: .json("\"\(owner)\"")))
            }
        }
        self.scheduler.advance(by: .seconds(60))
        for handler in handlers { handler.release() }
        self.scheduler.advance(by: .seconds(60))
    }

    private func configuration(_ source: CredentialSource) throws(LinkspanError) -> ConnectionConfiguration {
        try ConnectionBuilder(self.chance.element(self.urls)).transport(self.transport).credentials(source)
            .options { if self.chance.isOne(in: 6) { $0.openDeadline = .seconds(3) } }.build()
    }
}
