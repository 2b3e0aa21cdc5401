import Linkspan
import LinkspanSocketIO
import Synchronization

/// W2: requests over Socket.IO, each sent when the reply to the one before has come.
///
/// From a detached task that awaits the replies, or with callbacks.
enum RequestWorkload {
    static var count: Int { Length.of(50_000) }
    private static let text = String(repeating: "x", count: 64)

    static func runTask(port: Int, server: EchoServer) async throws {
        let connection = try ConnectionBuilder("http://127.0.0.1:\(port)").transport(Network.socketIO).connect()
        defer { connection.release() }
        for (count, isMeasured) in [(Self.count / 20, false), (Self.count, true)] {
            let measurement = Measurement(server: server)
            let latencies = try await Task.detached { try await Self.roundTrips(connection, count) }.value
            if isMeasured { measurement.report("W2 task", messages: count, latencies: latencies) }
        }
    }

    static func runCallback(port: Int, server: EchoServer) async throws {
        let connection = try ConnectionBuilder("http://127.0.0.1:\(port)").transport(Network.socketIO).connect()
        defer { connection.release() }
        for (count, isMeasured) in [(Self.count / 20, false), (Self.count, true)] {
            let measurement = Measurement(server: server)
            let latencies = await Self.callBack(connection, count)
            if isMeasured { measurement.report("W2 callback", messages: count, latencies: latencies) }
        }
    }

    static func roundTrips(_ connection: ConnectionHandler, _ count: Int) async throws -> [Duration] {
        var latencies: [Duration] = []
        latencies.reserveCapacity(count)
        for number in 0..<count {
            let start = ContinuousClock.now
            let reply = try await connection.request("req", number, Self.text)
            latencies.append(start.duration(to: .now))
            precondition(reply[0]?.int == number, "the reply is another request's")
        }
        return latencies
    }

    private static func callBack(_ connection: ConnectionHandler, _ count: Int) async -> [Duration] {
        await withCheckedContinuation { Requests(connection, count, Self.text, done: $0).next() }
    }
}

/// Sends requests one after the other, the next from the reply to the last.
final class Requests: Sendable {
    private let connection: ConnectionHandler
    private let count: Int
    private let text: String
    private let latencies: Mutex<[Duration]>
    private let done: CheckedContinuation<[Duration], Never>

    init(
        _ connection: ConnectionHandler, _ count: Int, _ text: String, done: CheckedContinuation<[Duration], Never>
    ) {
        self.connection = connection
        self.count = count
        self.text = text
        self.done = done
        self.latencies = Mutex([])
        self.latencies.withLock { $0.reserveCapacity(count) }
    }

    func next() {
        let start = ContinuousClock.now
        let number = self.latencies.withLock { $0.count }
        guard number < self.count else { return self.done.resume(returning: self.latencies.withLock { $0 }) }
        do {
            let command = Command(.request, event: "req", payload: try Payload(number, self.text)) { outcome in
                precondition((try? outcome.get())?[0]?.int == number, "the reply is another request's")
                self.latencies.withLock { $0.append(start.duration(to: .now)) }
                self.next()
            }
            try self.connection.perform(command)
        } catch {
            fatalError("\(error)")
        }
    }
}
