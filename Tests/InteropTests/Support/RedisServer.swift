internal import TestSupport
internal import Foundation
internal import LinkspanRuntime

/// A Redis of a test's own, on a socket in a folder of its own.
struct RedisServer {
    /// The URL of the Redis socket, for the servers' `--redis` option.
    let url: String
    /// The commands that it is given, in upper case.
    private let commands: Journal<String>

    struct Missing: Error, CustomStringConvertible {
        let description: String
    }

    /// Runs `body` with a server that keeps nothing.
    static func use(_ body: (Self) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("redis-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (server, lines) = try Self.start(
            "redis-server", "--port", "0", "--unixsocket", "\(folder)/socket", "--save", "", "--dir", folder)
        defer { kill(server.processIdentifier, SIGKILL) }
        _ = try await lines.entries { $0.joined().contains("EADY TO ACCEPT CONNECTIONS") }
        let (monitor, commands) = try Self.start("redis-cli", "-s", "\(folder)/socket", "monitor")
        defer { kill(monitor.processIdentifier, SIGKILL) }
        _ = try await commands.entries { $0.joined().contains("OK") }
        try await body(Self(url: "unix://\(folder)/socket", commands: commands))
    }

    /// Returns when so many listen to a channel: what is published before reaches nobody.
    func subscribed(_ count: Int, to channel: String) async throws {
        let command = "\"SUBSCRIBE\" \"\(channel.uppercased())\""
        _ = try await self.commands.entries { $0.joined().components(separatedBy: command).count > count }
    }

    private static func start(_ name: String, _ arguments: String...) throws -> (Process, Journal<String>) {
        guard FileManager.default.isExecutableFile(atPath: "/usr/bin/\(name)") else {
            throw Missing(description: "there is no \(name): apt-get install redis-server")
        }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/\(name)")
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let lines = Journal<String>("lines of \(name)")
        Thread.detachNewThread {
            while case let data = output.fileHandleForReading.availableData, !data.isEmpty {
                lines.append(String(decoding: data, as: UTF8.self).uppercased())
            }
        }
        return (process, lines)
    }
}
