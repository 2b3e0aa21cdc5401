import Foundation
import Linkspan
import LinkspanInMemory
import LinkspanNetwork
import LinkspanSocketIO
import LinkspanWebSocket

/// Requests over one Socket.IO connection, alone and among idle ones of the same loop, with the memory that those take.
///
/// `idle=N` for idle Socket.IO connections, `idle-raw=N` for raw WebSockets, `idle-tls=N` and `idle-raw-tls=N` over TLS. The
/// memory is told right by the first of them in a process: others find memory that was used before.
enum IdleWorkload {
    private static let requests = 5_000
    /// As many connections at a time as are opened at once.
    private static let batch = 200

    /// Runs what the argument names; returns false for any other argument.
    static func run(_ argument: String, server: EchoServer) async throws -> Bool {
        let parts = argument.split(separator: "=")
        guard parts.count == 2, let count = Int(parts[1]) else { return false }
        switch parts[0] {
        case "idle": try await Self.run(count, isRaw: false, server: server, isSecure: false)
        case "idle-raw": try await Self.run(count, isRaw: true, server: server, isSecure: false)
        case "idle-tls": try await Self.run(count, isRaw: false, server: server, isSecure: true)
        case "idle-raw-tls": try await Self.run(count, isRaw: true, server: server, isSecure: true)
        default: return false
        }
        return true
    }

    private static func run(_ count: Int, isRaw: Bool, server: EchoServer, isSecure: Bool) async throws {
        let port = isSecure ? server.securePort : server.port
        let tls = isSecure ? TLSPolicy(roots: .file(server.certificate)) : .system
        let socketIO = SocketIOTransport(
            .init {
                $0.tls = tls
                $0.network = Network.current
                $0.isMultiplexed = false
            })
        let raw = WebSocketTransport(
            .init {
                $0.tls = tls
                $0.network = Network.current
                $0.protocol = .binary
            })
        let http = isSecure ? "https" : "http"
        let webSocket = isSecure ? "wss" : "ws"
        let title = "\(isRaw ? "raw" : "sio")\(isSecure ? " tls" : "")"
        let busy = try ConnectionBuilder("\(http)://127.0.0.1:\(port)/?n=busy").transport(socketIO).connect()
        defer { busy.release() }
        let alone = try await Self.measure(busy, "\(title) 0", server: server)
        let before = ProcessUsage.residentBytes
        var idle: [ConnectionHandler] = []
        defer {
            for connection in idle {
                try? connection.disconnect()
                connection.release()
            }
        }
        for start in stride(from: 0, to: count, by: Self.batch) {
            let more = try (start..<min(start + Self.batch, count)).map { number in
                isRaw
                    ? try ConnectionBuilder("\(webSocket)://127.0.0.1:\(port)/raw?n=\(number)").transport(raw).connect()
                    : try ConnectionBuilder("\(http)://127.0.0.1:\(port)/?n=\(number)").transport(socketIO).connect()
            }
            for connection in more { await Self.opening(of: connection) }
            idle += more
        }
        let growth = ProcessUsage.residentBytes - before
        let among = try await Self.measure(busy, "\(title) \(count)", server: server)
        print(
            String(
                format: "%@: p50 among %d idle %.2f times that among none; %.1f KiB resident each", title, count,
                among / alone, Double(growth) / Double(max(1, count)) / 1_024))
    }

    private static func opening(of connection: ConnectionHandler) async {
        for await change in connection.stateChanges where change.to == .connected { return }
    }

    /// Returns the median of the requests' times, the best of three runs.
    private static func measure(
        _ connection: ConnectionHandler, _ name: String, server: EchoServer
    ) async throws -> Duration {
        var best: Duration?
        for isMeasured in [false, true, true, true] {
            let measurement = Measurement(server: server)
            let latencies = await withCheckedContinuation { done in
                Requests(connection, Self.requests, "x", done: done).next()
            }
            guard isMeasured else { continue }
            measurement.report(name, messages: Self.requests, latencies: latencies)
            let median = latencies.sorted()[latencies.count / 2]
            best = min(best ?? median, median)
        }
        return best ?? .zero
    }
}

/// W13: as W1, over the transport inside the process.
enum MemoryWorkload {
    static func run() async throws {
        let count = Length.of(1_000_000)
        let text = String(repeating: "x", count: 64)
        let hub = InMemoryHub()
        hub.onConnect { peer in peer.on("echo") { message in peer.emit("echo", message.payload) } }
        let connection = try ConnectionBuilder("memory://echo").transport(.inMemory(hub)).connect()
        defer { connection.release() }
        let window = Window { try? connection.send("echo", text) }
        try connection.on("echo") { message in
            precondition(message.payload[0]?.string?.utf8.count == 64, "the echo is not what was sent")
            window.cameBack()
        }
        await window.run(count / 20, width: 64)
        let measurement = Measurement(server: nil)
        await window.run(count, width: 64)
        measurement.report("W13", messages: count)
    }
}
