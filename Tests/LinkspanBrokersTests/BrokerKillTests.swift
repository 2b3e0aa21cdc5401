#if OUTBOX
internal import Foundation
internal import Linkspan
internal import LinkspanBrokers
internal import LinkspanFaults
internal import LinkspanRuntime
internal import LinkspanWebSocket
internal import TestSupport
internal import TestedBackEnds
internal import Testing

/// Kills a client process with an outbox again and again, and looks at what the broker has passed on or kept.
///
/// 8 times over each protocol, or as often as the environment variable `TEST_KILLS` says.
@Suite("Outbox of a killed process at a broker", .serialized, .timeLimit(.minutes(60)))
struct BrokerKillTests {
    /// The moment of the client's death, as in `KillTests`.
    enum Moment: String, CaseIterable {
        case anywhere, heard, keeping, kept, keepCommitted, accepted, ending, endCommitted, offered, checkpointing
    }

    private static var kills: Int { ProcessInfo.processInfo.environment["TEST_KILLS"].flatMap(Int.init) ?? 8 }

    @Test(arguments: BrokerCase.all)
    func `accepted deliveries of a killed client arrive in order, and their outcomes are offered`(
        _ of: BrokerCase
    ) async throws {
        let folder = try Folder()
        // The observer may be slow, or lose its link on a busy machine: mosquitto then drops more than 1,000 messages.
        let options = of.kind == .mosquitto ? ["--setting", "max_queued_messages 0"] : []
        try await Broker.run(of.kind, options) { broker in
            if of.kind == .nats { try await broker.withPeer("--stream", of: .nats) {} }
            let observer = try broker.connect(of.language)
            let (heard, changes) = (try observer.journal(of.event("jobs", "say")), observer.changes())
            try await observer.up()
            try await observer.settle(of.separator)
            let url = "ws://127.0.0.1:\(broker.server.port)"
            var course = BrokerCourse(
                heard: heard, errors: "\(folder.path)/errors",
                arguments: [
                    "--file", folder.outbox, "--url", url, "--protocol", of.language.name, "--event",
                    of.event("jobs", "say"),
                ])
            // Each kind of kill with the first eight runs; a longer course has all of them.
            for run in 0..<Self.kills {
                try await course.kill(at: Moment.allCases[run % Moment.allCases.count], run: run)
                // Otherwise so many wait in the end that more are refused.
                if run % 20 == 19 { try await course.drain() }
            }
            try await course.drain()
            try await observer.settle(of.separator)
            let arrived = heard.entries.map(\.payload.values).map { ($0[0].string ?? "", $0.last?.string ?? "") }
            var texts = arrived.map(\.0)
            // Everybody hears a repetition; the stream has it once.
            if of.kind == .nats { texts = try await broker.kept().map { $0.content[0]?.string ?? "" } }
            course.check(texts, isOnce: of.kind == .nats)
            #expect(arrived.allSatisfy { $0.0 == $0.1 }, "a message has the key of another")
            print(
                "killed over \(of.language.name): \(course.figures(texts)), heard \(arrived.count), "
                    + "observer lost \(changes.entries.count { $0.reason.error != nil }) times")
        }
    }
}

/// A client that is killed again and again, and what it was promised.
private struct BrokerCourse {
    let heard: Journal<Message>
    let errors: String
    let arguments: [String]
    private var record = VictimRecord()
    private var generator = SeededGenerator(seed: .random(in: 0...UInt64.max))

    init(heard: Journal<Message>, errors: String, arguments: [String]) {
        (self.heard, self.errors, self.arguments) = (heard, errors, arguments)
    }

    /// Runs the client until it dies.
    mutating func kill(at moment: BrokerKillTests.Moment, run: Int) async throws {
        let count = Int.random(in: 1...150, using: &self.generator)
        let arguments = self.arguments + ["--run", "\(run)"]
        let client: Victim
        switch moment {
        case .anywhere:
            client = try Victim(arguments, errors: self.errors)
            try await client.lines.entries { $0.count >= count }
            client.kill()
        case .heard:
            let before = self.heard.entries.count
            client = try Victim(arguments, errors: self.errors)
            try await self.heard.entries { $0.count >= before + count }
            client.kill()
        default:
            let times = moment == .checkpointing ? 1 : count
            client = try Victim(arguments + ["--crash", "\(moment):\(times)"], errors: self.errors)
        }
        let lines = try await client.end()
        #expect(!client.hasFailed, "\(client.complaints)")
        self.record.note(lines, killedAt: "\(moment)")
    }

    /// Lets the client send all that is left.
    mutating func drain() async throws { try await self.record.drain(self.arguments, errors: self.errors) }

    func figures(_ texts: [String]) -> String {
        "\(self.record.figures), \(self.record.accepted.subtracting(texts).count) lost, "
            + "\(texts.count - Set(texts).count) doubled"
    }

    /// Looks for what was lost, doubled or reordered among what has arrived.
    func check(_ texts: [String], isOnce: Bool) {
        self.record.check(arrived: Set(texts))
        if isOnce { #expect(texts.count == Set(texts).count, "kept twice") }
        var seen: Set<String> = []
        let places = texts.filter { seen.insert($0).inserted }.map { $0.split(separator: "-").compactMap { Int($0) } }
        for room in 0..<3 {
            let numbers = places.filter { $0[1] == room }.map { ($0[0], $0[2]) }
            #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 }, "out of order in room \(room)")
        }
    }
}
#endif
