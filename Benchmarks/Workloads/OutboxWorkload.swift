#if OUTBOX
import Foundation
import Linkspan
import LinkspanInMemory
import LinkspanOutbox
import LinkspanRuntime
import Synchronization

/// Deliveries handed to an outbox while the connection is down, beside rows inserted by SQLite's own functions.
///
/// Once by one caller, each when the one before is committed, once by 64 callers at a time, each waiting for its commit. Also
/// 64 rows a transaction from one thread with nobody waiting, and a process that finds 100,000 rows. The time of a commit is
/// the disk's: compare the lines of one run.
enum OutboxWorkload {
    private static let text = String(repeating: "x", count: 200)
    private static let callers = 64

    static func run() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("outbox-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = { (name: String) in folder.appendingPathComponent(name).path }
        try Self.insert("SQLite 1", rows: 2_000, together: 1, into: path("one"))
        try await Self.enqueue("outbox 1", rows: 2_000, callers: 1, into: path("caller"))
        try Self.insert("SQLite batch", rows: 64_000, together: Self.callers, into: path("many"))
        try Self.insert("SQLite 64", rows: 64_000, callers: Self.callers, into: path("threads"))
        try await Self.enqueue("outbox 64", rows: 64_000, callers: Self.callers, into: path("callers"))
        try await Self.resume(path("backlog"))
    }

    /// Inserts rows from one thread, so many in a transaction: what the library and the disk allow.
    private static func insert(_ name: String, rows: Int, together: Int, into path: String) throws {
        let database = try RawDatabase(path)
        let measurement = Measurement(server: nil)
        var latencies: [Duration] = []
        for first in stride(from: 0, to: rows, by: together) {
            let start = ContinuousClock.now
            database.insert(first..<min(first + together, rows), Self.text)
            latencies.append(start.duration(to: .now))
        }
        measurement.report(name, messages: rows, latencies: latencies)
    }

    /// Inserts rows from threads that each wait for their commit, which takes what all of them have by then.
    private static func insert(_ name: String, rows: Int, callers: Int, into path: String) throws {
        let commits = GroupedCommits(try RawDatabase(path), text: Self.text)
        let group = DispatchGroup()
        let latencies = Mutex<[Duration]>([])
        let measurement = Measurement(server: nil)
        for _ in 0..<callers {
            group.enter()
            Thread.detachNewThread {
                var own: [Duration] = []
                for _ in 0..<rows / callers {
                    let start = ContinuousClock.now
                    commits.insert()
                    own.append(start.duration(to: .now))
                }
                latencies.withLock { $0 += own }
                group.leave()
            }
        }
        group.wait()
        measurement.report(name, messages: rows, latencies: latencies.withLock(\.self))
    }

    /// Hands deliveries to a connection that is down.
    private static func enqueue(_ name: String, rows: Int, callers: Int, into path: String) async throws {
        let (manager, outbox) = (ConnectionManager(), Outbox(path: path))
        let handler = try Self.connect(manager, outbox, to: Self.hub(isUp: false))
        _ = try await handler.enqueue("say", Self.text)
        let measurement = Measurement(server: nil)
        let latencies = try await withThrowingTaskGroup(of: [Duration].self) { group in
            for caller in 0..<callers {
                group.addTask {
                    var latencies: [Duration] = []
                    for _ in 0..<rows / callers {
                        let start = ContinuousClock.now
                        _ = try await handler.enqueue("say", Self.text, orderingKey: "\(caller)")
                        latencies.append(start.duration(to: .now))
                    }
                    return latencies
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        measurement.report(name, messages: rows, latencies: latencies)
        await manager.shutdown()
        await outbox.close()
    }

    /// Finds 100,000 rows: how long until the first arrives, and how long until the last is answered.
    private static func resume(_ path: String) async throws {
        let rows = 100_000
        let writer = Outbox(path: path)
        // In parts, so that they leave no memory behind.
        for first in stride(from: 1, to: rows, by: 1_000) {
            await withCheckedContinuation { continuation in
                writer.executor.execute {
                    for number in first..<first + 1_000 {
                        let delivery = StoredDelivery(
                            key: "key \(number)", orderingKey: "\(number % 64)", event: "say",
                            payload: (try? Payload(Self.text)) ?? .empty)
                        writer.keep(delivery) { _ in if number == first + 999 { continuation.resume() } }
                    }
                }
            }
        }
        await writer.close()
        let (arrivals, arrived) = AsyncStream<Int>.makeStream()
        let hub = Self.hub(isUp: true) { arrived.yield($0) }
        let (manager, outbox, start) = (ConnectionManager(), Outbox(path: path), ContinuousClock.now)
        let memory = ProcessUsage.now.peakBytes
        let handler = try Self.connect(manager, outbox, to: hub)
        var first: Duration?
        for await number in arrivals {
            if first == nil { first = start.duration(to: .now) }
            if number == rows { break }
        }
        let all = start.duration(to: .now)
        let grown = Double(ProcessUsage.now.peakBytes - memory) / 1_048_576
        handler.release()
        await manager.shutdown()
        await outbox.close()
        print(
            String(
                format: "backlog     100,000 rows: the first after %.2f s, the last after %.1f s, %.0f MiB more memory",
                (first ?? .zero) / .seconds(1), all / .seconds(1), grown))
    }

    private static func connect(
        _ manager: ConnectionManager, _ outbox: Outbox, to hub: InMemoryHub
    ) throws -> ConnectionHandler {
        try ConnectionBuilder("memory://server").transport(.inMemory(hub)).options {
            $0.store = outbox
            $0.deliveries.commands = 1_000_000
            $0.deliveries.bytes = 1 << 30
        }.connect(by: manager)
    }

    private static func hub(isUp: Bool, onArrival: @escaping @Sendable (Int) -> Void = { _ in }) -> InMemoryHub {
        let (hub, count) = (InMemoryHub(), Count())
        hub.onConnect { peer in
            peer.on("say") { message in
                message.reply(.empty)
                onArrival(count.next())
            }
        }
        if !isUp { hub.cut() }
        return hub
    }

    private final class Count: Sendable {
        private let value = Mutex(0)

        func next() -> Int {
            self.value.withLock { value in
                value += 1
                return value
            }
        }
    }
}
#endif
