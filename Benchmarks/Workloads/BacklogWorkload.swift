import Foundation
import Linkspan
import LinkspanSocketIO
import Synchronization

/// W11: sends made while the connection is down, and how long until the server has them all; queues of any length.
enum BacklogWorkload {
    private static func builder(_ server: EchoServer, _ number: Int) -> ConnectionBuilder.WithTransport {
        ConnectionBuilder("http://127.0.0.1:\(server.port)/?backlog=\(number)").transport(.socketIO).options {
            ($0.buffer.commands, $0.buffer.bytes) = (10_000_000, 1 << 40)
            ($0.deliveries.commands, $0.deliveries.bytes) = (10_000_000, 1 << 40)
            $0.replyTimeout = .seconds(600)
        }
    }

    static func run(count: Int, server: EchoServer) async throws {
        let text = String(repeating: "x", count: 64)
        let connection = try Self.builder(server, count).connect()
        defer { connection.release() }
        try connection.disconnect()
        let before = ProcessUsage.residentBytes
        for _ in 0..<count { try connection.send("note", text) }
        let grown = ProcessUsage.residentBytes - before
        let (measurement, start) = (Measurement(server: server), ContinuousClock.now)
        try connection.connect()
        // Commands leave in order: this reply means that the server has had all before it.
        _ = try await connection.request("req", 1, text)
        let time = start.duration(to: .now)
        measurement.report(count == 100_000 ? "W11" : "W11 \(count)", messages: count)
        print(
            String(
                format: "W11 drain   %d sends with the server after %.2f s; %.0f bytes resident each while they waited",
                count, time / .seconds(1), Double(grown) / Double(count)))
        // Requests at once on the open connection.
        let requests = 100_000
        let answered = Mutex(0)
        let begin = Measurement(server: server)
        await withCheckedContinuation { done in
            for number in 0..<requests {
                let command = Command(
                    .request, event: "req", payload: (try? Payload(number, text)) ?? .empty
                ) { _ in
                    let isLast = answered.withLock { answered in
                        answered += 1
                        return answered == requests
                    }
                    if isLast { done.resume() }
                }
                // The room on the way to the loop is bounded: a caller that is faster tries again.
                while (try? connection.perform(command)) == nil { usleep(100) }
            }
        }
        begin.report("requests", messages: requests)
    }

    /// `queue=N` and `keys=N`: commands queued while the connection is down, then cancelled one by one.
    static func run(queue count: Int, keys: Int, server: EchoServer) async throws {
        let connection = try Self.builder(server, -count).connect()
        defer { connection.release() }
        try connection.disconnect()
        let name = keys == 0 ? "queue=\(count)" : "keys=\(keys)"
        let ended = Mutex(0)
        let before = ProcessUsage.residentBytes
        let queueing = Measurement(server: nil)
        var ids: [Command.ID] = []
        ids.reserveCapacity(count)
        for number in 0..<count {
            let kind = keys == 0 ? Command.Kind.request : .deliver(orderingKey: "\(number % keys)")
            let command = Command(kind, event: "note", payload: .empty) { _ in ended.withLock { $0 += 1 } }
            ids.append(command.id)
            try connection.perform(command)
        }
        // The last of all is cancelled when all before it have been taken.
        await withCheckedContinuation { done in
            let last = Command(.request, event: "last", payload: .empty) { _ in done.resume() }
            try? connection.perform(last)
            connection.cancel(last.id)
        }
        queueing.report("\(name) in", messages: count)
        let grown = ProcessUsage.residentBytes - before - count * MemoryLayout<Command.ID>.stride
        let cancelling = Measurement(server: nil)
        for id in ids { connection.cancel(id) }
        while ended.withLock({ $0 }) < count { try await Task.sleep(for: .milliseconds(1)) }
        cancelling.report("\(name) out", messages: count)
        print(String(format: "%@: %.0f bytes resident each while they waited", name, Double(grown) / Double(count)))
    }
}
