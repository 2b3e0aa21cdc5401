import Linkspan
import LinkspanSocketIO
import Synchronization

/// W3: a flood of objects of 100 bytes over Socket.IO; one member of each is read and added up.
enum FloodWorkload {
    private struct Flood: Encodable {
        var n: Int
        var bytes: Int
    }

    private struct Sum: Sendable {
        var count = 0
        var total = 0
        var expected = 0
    }

    static func run(port: Int, server: EchoServer) async throws {
        let count = Length.of(1_000_000)
        let connection = try ConnectionBuilder("http://127.0.0.1:\(port)").transport(Network.socketIO).connect()
        defer { connection.release() }
        let sum = Mutex(Sum())
        // Apart from the sum, with which each message would copy it.
        let done = Mutex<CheckedContinuation<Void, Never>?>(nil)
        try connection.on("item") { message in
            let id = message.payload[0]?["id"]?.int ?? -1
            let isLast = sum.withLock { sum in
                sum.count += 1
                sum.total += id
                return sum.count == sum.expected
            }
            if isLast { done.withLock { $0 }?.resume() }
        }
        for (index, items) in [count / 20, count].enumerated() {
            let measurement = Measurement(server: server)
            await withCheckedContinuation { continuation in
                sum.withLock { $0 = Sum(expected: items) }
                done.withLock { $0 = continuation }
                try? connection.send("flood", Flood(n: items, bytes: 100))
            }
            precondition(sum.withLock { $0.total } == items * (items - 1) / 2, "items are missing or wrong")
            if index == 1 { measurement.report("W3", messages: items) }
        }
    }
}
