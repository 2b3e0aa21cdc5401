import Foundation
import Linkspan
import LinkspanNetwork
import LinkspanSocketIO
import LinkspanWebSocket

/// Runs the project's standard workloads through the public API and prints what a message costs.
///
/// `workloads [--server PATH] [--network NAME] [--messages N] [NAME …]`: starts the echo server beside this program unless told where it is. The
/// names are W1 to W4, W6 to W8 and W10 to W13, `string`, `borrowed`, `loop`, `callback`, `codable`, `codable-flood`, `stream`, `fanout`, `inspector`, `outbox`, and
/// with a number `names=`, `listeners=`, `namespaces=`, `observers=`, `idle=`, `idle-raw=`, `idle-tls=`, `idle-raw-tls=`, `backlog=`, `queue=`,
/// `keys=`, `payload=` and `inspector-load=`; see `Benchmarks/run`. `--messages` takes the place of a workload's own number of messages. The
/// server's own CPU is printed too: where it nears the client's, the messages per second are the server's, not ours.
@main
enum Workloads {
    private static let usual = [
        "W1", "string", "W2", "loop", "callback", "W3", "W4", "W7", "W8", "W11", "W12", "W13", "codable",
        "codable-flood",
        "stream",
    ]

    static func main() async throws {
        var arguments = Array(CommandLine.arguments.dropFirst())
        var serverPath = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("echo-server").path
        if let flag = arguments.firstIndex(of: "--server"), flag + 1 < arguments.count {
            serverPath = arguments[flag + 1]
            arguments.removeSubrange(flag...flag + 1)
        }
        if let first = arguments.first {
            if try await InspectorWorkload.runPage(first) { return }
            if try await InspectorLoadWorkload.runPage(first) { return }
        }
        var network = NetworkBackEnd.standard
        if let flag = arguments.firstIndex(of: "--network"), flag + 1 < arguments.count {
            network = NetworkBackEnd(rawValue: arguments[flag + 1])
            if let absence = network.absence { return print(absence) }
            arguments.removeSubrange(flag...flag + 1)
        }
        var length: Int?
        if let flag = arguments.firstIndex(of: "--messages"), flag + 1 < arguments.count {
            length = Int(arguments[flag + 1])
            arguments.removeSubrange(flag...flag + 1)
        }
        let wanted = arguments.isEmpty ? Self.usual : arguments
        try await Network.$current.withValue(network) {
            try await Length.$given.withValue(length) { try await Self.run(wanted, path: serverPath) }
        }
    }

    private static func run(_ names: [String], path: String) async throws {
        let server = try EchoServer(path: path)
        defer { server.stop() }
        print(Measurement.heading)
        for name in names { try await Self.run(name, server: server, path: path) }
    }

    private static func run(_ name: String, server: EchoServer, path: String) async throws {
        switch name {
        case "W1": try await EchoWorkload.run(port: server.port, server: server)
        case "borrowed": try await BorrowedEchoWorkload.run(server: server)
        case "string": try await EchoWorkload.runString(port: server.port, server: server)
        case "W2": try await RequestWorkload.runTask(port: server.port, server: server)
        case "loop": try await LoopRequestWorkload.run(port: server.port, server: server)
        case "callback": try await RequestWorkload.runCallback(port: server.port, server: server)
        case "W3": try await FloodWorkload.run(port: server.port, server: server)
        case "W7": try await RawEchoWorkload.run(port: server.port, server: server)
        case "W4": try await BinaryWorkload.runSocketIO(server: server)
        case "W6": try await ConnectWorkload.runConnect(server: server)
        case "W8": try await BinaryWorkload.runRaw(server: server)
        case "W10": try await ConnectWorkload.runRestart(path: path)
        case "W11": try await BacklogWorkload.run(count: 100_000, server: server)
        case "W12": try await ObserverWorkload.run(server: server)
        case "W13": try await MemoryWorkload.run()
        case "codable": try await CodableWorkload.runEcho(server: server)
        case "codable-flood": try await CodableWorkload.runFlood(server: server)
        case "stream": try await CodableWorkload.runStream(server: server)
        #if OUTBOX
        case "outbox": try await OutboxWorkload.run()
        #endif
        case "inspector": try await InspectorWorkload.run(port: server.port, server: server)
        case "fanout": try await FanoutWorkload.run(port: server.port)
        default:
            let isKnown = try await IdleWorkload.run(name, server: server)
            if !isKnown { try await Self.runScaled(name, server: server) }
        }
    }

    /// Runs a workload whose size is part of its name.
    private static func runScaled(_ name: String, server: EchoServer) async throws {
        let parts = name.split(separator: "=")
        guard parts.count == 2, let size = Int(parts[1]) else { return print("there is no workload \(name)") }
        switch parts[0] {
        case "names": try await VariedEchoWorkload.run(names: size, server: server)
        case "listeners": try await VariedEchoWorkload.run(listeners: size, server: server)
        case "namespaces": try await VariedEchoWorkload.run(namespaces: size, server: server)
        case "observers": try await ObserverWorkload.run(size, server: server)
        case "backlog": try await BacklogWorkload.run(count: size, server: server)
        case "queue": try await BacklogWorkload.run(queue: size, keys: 0, server: server)
        case "keys": try await BacklogWorkload.run(queue: 1_000_000, keys: size, server: server)
        case "payload": try await BinaryWorkload.run(payload: size, server: server)
        case "inspector-load": try await InspectorLoadWorkload.run(size, server: server)
        case "inspector-none": try await InspectorLoadWorkload.runBare(size, server: server)
        default: print("there is no workload \(name)")
        }
    }
}

/// The library that carries the bytes of the workload that is running.
enum Network {
    @TaskLocal static var current = NetworkBackEnd.standard

    /// Socket.IO over it.
    static var socketIO: SocketIOTransport { SocketIOTransport(.init { $0.network = Self.current }) }

    /// Binary messages of raw WebSockets over it.
    static var raw: WebSocketTransport {
        WebSocketTransport(
            .init {
                $0.protocol = .binary
                $0.network = Self.current
            })
    }
}
