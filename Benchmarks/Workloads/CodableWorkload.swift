import Linkspan
import LinkspanSocketIO
import Synchronization

/// W1 and W3 as people write them: with `Codable` types, and with a sequence on the main actor.
enum CodableWorkload {
    private struct Note: Codable, Sendable {
        var id: Int
        var text: String
    }

    private struct Item: Decodable, Sendable {
        var id: Int
    }

    private struct Flood: Encodable {
        var n: Int
        var bytes: Int
    }

    static func runEcho(server: EchoServer) async throws {
        let count = Length.of(200_000)
        let connection = try ConnectionBuilder("http://127.0.0.1:\(server.port)").transport(Network.socketIO).connect()
        defer { connection.release() }
        let note = Note(id: 7, text: String(repeating: "x", count: 64))
        let window = Window { try? connection.send("echo", note) }
        try connection.on("echo", as: Note.self) { echo in
            guard case .success(let echo) = echo else { preconditionFailure("the echo has another shape") }
            precondition(echo.id == 7 && echo.text.utf8.count == 64, "the echo is not what was sent")
            window.cameBack()
        }
        await window.run(count / 20, width: 64)
        let measurement = Measurement(server: server)
        await window.run(count, width: 64)
        measurement.report("W1 codable", messages: count)
    }

    static func runFlood(server: EchoServer) async throws {
        let connection = try ConnectionBuilder("http://127.0.0.1:\(server.port)").transport(Network.socketIO).connect()
        defer { connection.release() }
        let sum = Mutex((count: 0, expected: 0, done: CheckedContinuation<Void, Never>?.none))
        try connection.on("item", as: Item.self) { item in
            guard case .success(let item) = item else { preconditionFailure("the item has another shape") }
            let done = sum.withLock { sum in
                sum.count += item.id >= 0 ? 1 : 0
                return sum.count == sum.expected ? sum.done : nil
            }
            done?.resume()
        }
        let all = Length.of(1_000_000)
        for (count, isMeasured) in [(all / 20, false), (all, true)] {
            let measurement = Measurement(server: server)
            await withCheckedContinuation { continuation in
                sum.withLock { $0 = (0, count, continuation) }
                try? connection.send("flood", Flood(n: count, bytes: 100))
            }
            if isMeasured { measurement.report("W3 codable", messages: count) }
        }
    }

    /// The messages as a sequence in the main actor's task.
    @MainActor
    static func runStream(server: EchoServer) async throws {
        let connection = try ConnectionBuilder("http://127.0.0.1:\(server.port)").transport(Network.socketIO).connect()
        defer { connection.release() }
        let count = Length.of(200_000)
        let text = String(repeating: "x", count: 64)
        var measurement = Measurement(server: server)
        var received = 0
        let messages = try connection.events("echo")
        for _ in 0..<64 { try connection.send("echo", text) }
        for await (message, _) in messages {
            precondition(message.payload[0]?.text.count == 66, "the echo is not what was sent")
            received += 1
            if received == count / 20 { measurement = Measurement(server: server) }
            if received == count + count / 20 { break }
            try connection.send("echo", text)
        }
        measurement.report("W1 stream", messages: count)
    }
}
