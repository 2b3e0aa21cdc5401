internal import Foundation
internal import Linkspan
internal import LinkspanBrokers
internal import LinkspanFaults
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanWebSocket
internal import TestSupport
internal import TestedBackEnds
internal import Testing

/// Deliveries under load while links are cut or go half open, and while the broker is killed.
@Suite("Outages of brokers", .overSomeBackEnd, .timeLimit(.minutes(12)))
struct OutageTests {
    enum Outage: CaseIterable {
        case cut, halfOpen
    }

    /// The length of the long run, in seconds.
    private static var seconds: Int { ProcessInfo.processInfo.environment["TEST_LOSS_SECONDS"].flatMap(Int.init) ?? 8 }

    /// Mosquitto saves its file before it acknowledges what waits for a listener, and drops nothing that waits.
    private static let durable = ["--durable", "--setting", "max_queued_messages 0"]

    private static let count = 600
    private static let keys = ["a", "b", "c"]

    /// Hands all deliveries over, and has `disturb` called after each hundred outcomes.
    private static func deliver(
        over connection: ConnectionHandler, _ of: BrokerCase, disturb: () async throws -> Void
    ) async throws {
        let outcomes = Journal<Result<Payload, LinkspanError>>("outcomes of deliveries")
        for number in 0..<Self.count {
            let key = Self.keys[number % Self.keys.count]
            let command = Command(
                .deliver(orderingKey: key), event: of.event("jobs", key), payload: try Payload(number)
            ) { outcomes.append($0) }
            try connection.perform(command)
        }
        for hundred in 1...4 {
            try await outcomes.first(hundred * 100)
            try await disturb()
        }
        for outcome in try await outcomes.first(Self.count) { _ = try outcome.get() }
    }

    /// The numbers that were delivered with a key.
    private static func numbers(of key: String) -> [Int] {
        (0..<Self.count).filter { Self.keys[$0 % Self.keys.count] == key }
    }

    @Test(arguments: BrokerCase.all, Outage.allCases)
    func `a lost link loses nothing that is delivered, and keeps its order`(
        _ of: BrokerCase, _ outage: Outage
    ) async throws {
        try await Broker.run(of.kind) { broker in
            try await broker.withRelay { relay in
                let keepAlive = WebSocketKeepAlive(interval: .milliseconds(300), timeout: .milliseconds(300))
                let connection = try broker.connect(of.language, through: relay, keepAlive: keepAlive)
                let observer = try broker.connect(of.language)
                let heard = try Self.keys.map { try observer.journal(of.event("jobs", $0)) }
                try await observer.up()
                try await observer.settle(of.separator)
                if of.kind == .nats { try await broker.withPeer("--stream", of: .nats) {} }
                let changes = connection.changes()
                try await Self.deliver(over: connection, of) {
                    if outage == .cut { return try await relay.restart() }
                    relay.pause()
                    defer { relay.resume() }
                    // At once if a busy machine has missed a heartbeat already.
                    try await eventually("the link is lost") { connection.state != .connected }
                }
                if of.kind == .nats {
                    let kept = try await broker.stream()
                    for key in Self.keys { #expect(kept["jobs.\(key)"] == Self.numbers(of: key)) }
                } else {
                    try await observer.settle(of.separator)
                    for (key, journal) in zip(Self.keys, heard) {
                        let numbers = journal.entries.map { $0.payload[0]?.int ?? -1 }
                        #expect(numbers.firsts == Self.numbers(of: key))
                    }
                }
                #expect(changes.entries.count { $0.reason.error != nil } >= 4)
            }
        }
    }

    /// `TEST_LOSS_SECONDS=300` lets it run for five minutes.
    @Test(arguments: BrokerCase.all)
    func `nothing that was acknowledged is lost or reordered in a long run of outages`(_ of: BrokerCase) async throws {
        try await Broker.run(of.kind, of.kind == .mosquitto ? Self.durable : []) { broker in
            try await broker.withRelay { relay in
                if of.kind == .nats { try await broker.withPeer("--stream", of: .nats) {} }
                let keepAlive = WebSocketKeepAlive(interval: .milliseconds(300), timeout: .milliseconds(300))
                let connection = try broker.connect(of.language, through: relay, keepAlive: keepAlive)
                let (observer, heard) = (try broker.connect(of.language), Journal<Message>("deliveries"))
                for key in Self.keys { _ = try observer.on(of.event("jobs", key)) { heard.append($0) } }
                try await observer.up()
                try await observer.settle(of.separator)
                let outcomes = Journal<Result<Payload, LinkspanError>>("outcomes of deliveries")
                let (end, changes) = (Moment.now + .seconds(Self.seconds), connection.changes())
                var (sent, kills, generator) = (0, 0, SeededGenerator(seed: .random(in: 0...UInt64.max)))
                while Moment.now < end {
                    for _ in 0..<300 {
                        let key = Self.keys[sent % Self.keys.count]
                        let command = Command(
                            .deliver(orderingKey: key), event: of.event("jobs", key), payload: try Payload(sent)
                        ) { outcomes.append($0) }
                        try connection.perform(command)
                        sent += 1
                    }
                    try await outcomes.first(sent - Int.random(in: 1..<300, using: &generator))
                    switch Int.random(in: 0..<3, using: &generator) {
                    case 0: try await relay.restart()
                    case 1:
                        relay.pause()
                        defer { relay.resume() }
                        try await eventually("the link is lost") { connection.state != .connected }
                    default:
                        if of.kind == .mosquitto {
                            // It acknowledges before it saves. Nothing more is acknowledged from here on, and all that was
                            // has been heard when the listener gets its own message back.
                            relay.pause()
                            try await observer.settle(by: .deliver(orderingKey: "settled"))
                        }
                        defer { relay.resume() }
                        try await broker.crash()
                        kills += 1
                    }
                    try await outcomes.first(sent)
                }
                let failed = outcomes.entries.count { (try? $0.get()) == nil }
                #expect(failed == 0)
                let kept: [Int]
                if of.kind == .nats {
                    // A listener misses messages while NATS is down; the stream has each of them once.
                    kept = try await broker.kept().map { $0.content.int ?? -1 }
                } else {
                    try await observer.settle(by: .deliver(orderingKey: "last"))
                    kept = heard.entries.map { $0.payload[0]?.int ?? -1 }
                }
                var (seen, lost, reordered) = (Set<Int>(), sent, 0)
                for key in 0..<Self.keys.count {
                    let firsts = kept.filter { $0 % Self.keys.count == key && seen.insert($0).inserted }
                    lost -= firsts.count
                    reordered += zip(firsts, firsts.dropFirst()).count { $0 > $1 }
                }
                let doubled = kept.count - seen.count
                #expect(lost == 0)
                #expect(reordered == 0)
                if of.kind == .nats { #expect(doubled == 0) }
                let outages = changes.entries.count { $0.reason.error != nil }
                print(
                    "\(of.language.name) for \(Self.seconds) s: \(sent) acknowledged, \(outages) outages, broker killed \(kills) "
                        + "times, \(lost) lost, \(reordered) reordered, \(doubled) doubled")
            }
        }
    }

    /// The brokers, and whether they keep the sessions of listeners over their own death.
    private static let listeners = BrokerCase.all.map { ($0, false) } + [(BrokerCase.all[0], true)]

    @Test(arguments: Self.listeners)
    func `the death of the broker leaves listeners a gap, unless it keeps their sessions on a disk`(
        _ of: BrokerCase, _ isDurable: Bool
    ) async throws {
        try await Broker.run(of.kind, isDurable ? ["--durable"] : []) { broker in
            let connection = try broker.connect(of.language)
            let (heard, changes) = (try connection.journal(of.event("news", "today")), connection.changes())
            try await connection.up()
            try await connection.settle(of.separator)
            let before = changes.entries.count
            if isDurable { try await broker.hasSaved() }
            try await broker.crash()
            let back = try await changes.entries { $0.dropFirst(before).contains { $0.continuity != nil } }
                .last { $0.continuity != nil }
            #expect(back?.continuity == (isDurable ? .continuous : .gap(.reconnected)))
            try connection.send(of.event("news", "today"), 1)
            _ = try await heard.first(1)
        }
    }

    @Test
    func `a killed server of NATS loses nothing that its stream has acknowledged, and has nothing twice`() async throws
    {
        try await Broker.run(.nats) { broker in
            try await broker.withPeer("--stream", of: .nats) {}
            let connection = try broker.connect(.nats)
            try await Self.deliver(over: connection, BrokerCase.all[1]) { try await broker.crash() }
            let kept = try await broker.stream()
            for key in Self.keys { #expect(kept["jobs.\(key)"] == Self.numbers(of: key)) }
        }
    }

    @Test
    func `a killed broker of MQTT that saves each change keeps what it acknowledged for an absent listener`()
        async throws
    {
        try await Broker.run(.mosquitto, Self.durable) { broker in
            try await broker.withRelay { relay in
                let (connection, observer) = (try broker.connect(.mqtt), try broker.connect(.mqtt, through: relay))
                let (heard, changes) = (try observer.journal("jobs/#"), observer.changes())
                try await observer.up()
                try await observer.settle()
                await relay.stop()
                try await changes.first { $0.reason.error != nil }
                try await Self.deliver(over: connection, BrokerCase.all[0]) { try await broker.crash() }
                try await broker.crash()
                try await relay.start()
                try await observer.settle(by: .deliver(orderingKey: "last"))
                let numbers = heard.entries.map { $0.payload[0]?.int ?? -1 }.firsts
                for (index, key) in Self.keys.enumerated() {
                    #expect(numbers.filter { $0 % Self.keys.count == index } == Self.numbers(of: key))
                }
            }
        }
    }

    @Test
    func `a killed broker of MQTT gets every delivery again until it has acknowledged it`() async throws {
        try await Broker.run(.mosquitto) { broker in
            let (connection, observer) = (try broker.connect(.mqtt), try broker.connect(.mqtt))
            let heard = try Self.keys.map { try observer.journal("jobs/\($0)") }
            try await observer.up()
            try await observer.settle()
            try await Self.deliver(over: connection, BrokerCase.all[0]) {
                // What it has acknowledged and not yet passed on dies with it: it keeps nothing on a disk.
                try await observer.settle()
                let changes = observer.changes()
                try await broker.crash()
                try await changes.first { $0.continuity != nil }
            }
            try await observer.settle()
            for (key, journal) in zip(Self.keys, heard) {
                let firsts = journal.entries.map { $0.payload[0]?.int ?? -1 }.firsts
                #expect(firsts == firsts.sorted())
                print("MQTT, broker killed 4 times, key \(key): \(firsts.count) of \(Self.numbers(of: key).count)")
            }
        }
    }
}

extension [Int] {
    /// Each number once, where it stands first.
    fileprivate var firsts: [Int] {
        var seen: Set<Int> = []
        return self.filter { seen.insert($0).inserted }
    }
}
