#if OUTBOX
internal import TestSupport
internal import Foundation
internal import GRDB
internal import Linkspan
internal import LinkspanDevServer
internal import LinkspanInMemory
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

/// Kills a client process with an outbox again and again, and asks a server that recognises keys what has arrived.
///
/// 12 times for each wire, or as often as the environment variable `TEST_KILLS` says.
@Suite("Outbox of a killed process", .serialized, .timeLimit(.minutes(60)))
struct KillTests {
    enum Wire: String, CaseIterable {
        case socketIO, webSocket
    }

    /// When the client dies.
    enum Moment: Sendable, CaseIterable {
        /// When it has said so many lines: anywhere.
        case anywhere
        /// K1: before the row is inserted.
        case keeping
        /// K2: inside the transaction.
        case kept
        /// K3: committed, and the caller not told.
        case keepCommitted
        /// K4: the caller told, perhaps nothing sent.
        case accepted
        /// K5: the server does not read, and frames are written in part.
        case halfWritten
        /// K6: the server has applied it, and has not replied.
        case unanswered
        /// K7: the reply is there, and not recorded.
        case ending
        /// K8: recorded, and nobody told.
        case endCommitted
        /// K9: the outcome offered, and not confirmed.
        case offered
        /// K10: the log is being written into the database.
        case checkpointing
        /// K11: the tables are being changed, inside the transaction.
        case migrating
    }

    private static var kills: Int { ProcessInfo.processInfo.environment["TEST_KILLS"].flatMap(Int.init) ?? 12 }

    @Test(arguments: Wire.allCases)
    func `accepted deliveries of a killed client are applied once, in order, and their outcomes offered`(
        _ wire: Wire
    ) async throws {
        let (effects, folder) = (
            Effects(), FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        )
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let server = DevServer(hub: effects.hub)
        try await server.start()
        let url = wire == .socketIO ? server.socketIOURL : server.webSocketURL
        var course = Course(
            effects: effects, server: server,
            arguments: ["--file", folder.appendingPathComponent("outbox.sqlite").path, "--url", url],
            errors: folder.appendingPathComponent("errors").path)
        for number in 0..<Self.kills {
            try await course.kill(at: Moment.allCases[number % Moment.allCases.count], run: number)
        }
        try await course.drain()
        await server.stop()
        course.check()
        print("killed over \(wire.rawValue): \(course.figures)")
    }

    #if os(Linux)
    @Test(.enabled(if: SmallDisk.isAvailable, "needs root"), arguments: Wire.allCases)
    func `accepted deliveries survive a kill while the reserve is released on a full disk`(
        _ wire: Wire
    ) async throws {
        // K12, a third as often as the others together.
        for _ in 0..<max(1, Self.kills / 3) {
            let (effects, disk) = (Effects(), try SmallDisk(kilobytes: 6_144))
            let server = DevServer(hub: effects.hub)
            try await server.start()
            let url = wire == .socketIO ? server.socketIOURL : server.webSocketURL
            let errors = try Folder()
            var course = Course(
                effects: effects, server: server, arguments: ["--file", disk.folder.outbox, "--url", url],
                errors: "\(errors.path)/errors")
            try await course.killOnFullDisk()
            try await course.drain()
            await server.stop()
            course.check()
        }
    }
    #endif
}

/// A client that is killed again and again, what it was promised, and what the server saw.
private struct Course {
    let effects: Effects
    let server: DevServer
    let arguments: [String]
    let errors: String
    private var generator = SeededGenerator(seed: UInt64.random(in: 0...UInt64.max))
    private var clients = VictimRecord()
    private var drops = 0

    init(effects: Effects, server: DevServer, arguments: [String], errors: String) {
        self.effects = effects
        self.server = server
        self.arguments = arguments
        self.errors = errors
    }

    var figures: String {
        let record = self.effects.record
        return
            "\(self.clients.figures), \(record.replies.count) applied, \(record.repetitions) repeated, "
            + "\(self.drops) links dropped"
    }

    /// Runs the client until it dies.
    mutating func kill(at moment: KillTests.Moment, run: Int) async throws {
        let count = Int.random(in: 1...150, using: &self.generator)
        let dropAt = Int.random(in: 1...100, using: &self.generator)
        var arguments = self.arguments + ["--run", "\(run)"]
        let victim = Lock<Victim?>(nil)
        let (server, hub, drops) = (self.server, self.effects.hub, Lock(0))
        let killsUnanswered = if case .unanswered = moment { true } else { false }
        self.effects.onArrival { number in
            if number == dropAt {
                drops.withLock { $0 += 1 }
                for peer in hub.peers { server.drop(peer) }
                return false
            }
            guard killsUnanswered, number >= count else { return true }
            victim.withLock { $0 }?.kill()
            return false
        }
        switch moment {
        case .anywhere, .unanswered: ()
        case .halfWritten:
            // More than the buffers of a connection hold.
            arguments += ["--size", "3500000"]
            server.stall()
        case .checkpointing: arguments += ["--crash", "checkpointing:1"]
        case .migrating:
            try self.age()
            arguments += ["--crash", "migrating:1"]
        default: arguments += ["--crash", "\(moment):\(count)"]
        }
        let client = try Victim(arguments, errors: self.errors)
        victim.withLock { $0 = client }
        switch moment {
        case .anywhere:
            try await client.lines.entries { $0.count >= count }
            client.kill()
        case .halfWritten:
            try await client.lines.entries { $0.count { $0?.hasPrefix("accepted") == true } >= 6 }
            client.kill()
            server.stall(false)
        default: ()
        }
        let lines = try await client.end()
        #expect(!client.hasFailed, "\(client.complaints)")
        self.clients.note(lines, killedAt: "\(moment)")
        self.drops += drops.withLock { $0 }
    }

    /// Runs the client until its disk is full, and then until it gives the reserve up for the first outcomes.
    mutating func killOnFullDisk() async throws {
        // Nothing is answered until the disk is full.
        let isFull = Lock(false)
        self.effects.onArrival { _ in isFull.withLock { $0 } }
        let client = try Victim(
            self.arguments + ["--run", "0", "--size", "20000", "--crash", "releasingReserve:1"], errors: self.errors)
        try await client.lines.entries { $0.contains { $0?.hasPrefix("refused") == true } }
        isFull.withLock { $0 = true }
        let lines = try await client.end()
        #expect(!client.hasFailed, "\(client.complaints)")
        self.clients.note(lines.filter { !$0.hasPrefix("refused") }, killedAt: "releasingReserve")
    }

    /// Makes the file what the first version of the SDK left.
    private func age() throws {
        let queue = try DatabaseQueue(path: self.arguments[1])
        try queue.writeWithoutTransaction { database in
            try database.execute(
                sql: """
                    DROP TABLE IF EXISTS received; DROP TABLE IF EXISTS received_session;
                    ALTER TABLE delivery DROP COLUMN checksum; ALTER TABLE session DROP COLUMN last;
                    PRAGMA user_version = 1;
                    """)
        }
        try queue.close()
    }

    /// Lets the client send all that is left.
    mutating func drain() async throws {
        self.effects.onArrival { _ in true }
        try await self.clients.drain(self.arguments, errors: self.errors)
    }

    private var files: [String] {
        let folder = URL(fileURLWithPath: self.errors).deletingLastPathComponent().path
        return (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }

    func check() {
        let record = self.effects.record
        let applied = Set(record.applied.values.joined())
        self.clients.check(arrived: applied)
        let damaged = self.files.filter { $0.contains("damaged") }
        #expect(damaged.isEmpty)
        #expect(applied.count == record.applied.values.reduce(0) { $0 + $1.count }, "applied twice")
        for (room, texts) in record.applied {
            let places = texts.map { $0.split(separator: "-").compactMap { Int($0) } }
            let isOrdered = zip(places, places.dropFirst()).allSatisfy { ($0[0], $0[2]) < ($1[0], $1[2]) }
            #expect(isOrdered, "out of order in room \(room)")
        }
    }
}
#endif
