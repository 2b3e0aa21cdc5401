import Foundation
import Linkspan
import LinkspanSocketIO
import LinkspanWebSocket

/// Runs the project's standard workloads through the public API and prints what a message costs.
///
/// `workloads [--server PATH] [W1] [W2] [W3] [W7] [W13] [fanout] [outbox] [idle=N] [idle-raw=N] [idle-tls=N] [idle-raw-tls=N]`: starts the echo server beside this program unless told where it is. The
/// server's own CPU is printed too: where it nears the client's, the messages per second are the server's, not ours.
@main
enum Workloads {
    static func main() async throws {
        var arguments = Array(CommandLine.arguments.dropFirst())
        var serverPath = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("echo-server").path
        if let flag = arguments.firstIndex(of: "--server"), flag + 1 < arguments.count {
            serverPath = arguments[flag + 1]
            arguments.removeSubrange(flag...flag + 1)
        }
        let wanted = arguments.isEmpty ? ["W1", "W2", "W3", "W7", "W13", "fanout", "outbox"] : arguments
        let server = try EchoServer(path: serverPath)
        defer { server.stop() }
        print(Measurement.heading)
        for name in wanted {
            switch name {
            case "W1": try await EchoWorkload.run(port: server.port, server: server)
            case "W2": try await RequestWorkload.run(port: server.port, server: server)
            case "W3": try await FloodWorkload.run(port: server.port, server: server)
            case "W7": try await RawEchoWorkload.run(port: server.port, server: server)
            case "W13": try await MemoryWorkload.run()
            case "outbox": try await OutboxWorkload.run()
            case "fanout": try await FanoutWorkload.run(port: server.port)
            default:
                let isKnown = try await IdleWorkload.run(name, server: server)
                if !isKnown { print("there is no workload \(name)") }
            }
        }
    }
}
