internal import EventJournal
internal import Foundation
internal import LinkspanRuntime

/// A Redis of a test's own, on a socket in a folder of its own.
enum RedisServer {
    struct Missing: Error, CustomStringConvertible {
        let description: String
    }

    /// Runs `body` with the URL of a server that keeps nothing.
    static func use(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("redis-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        guard FileManager.default.isExecutableFile(atPath: "/usr/bin/redis-server") else {
            throw Missing(description: "there is no redis-server: apt-get install redis-server")
        }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/redis-server")
        process.arguments = ["--port", "0", "--unixsocket", "\(folder)/socket", "--save", "", "--dir", folder]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        defer { kill(process.processIdentifier, SIGKILL) }
        let lines = Journal<String>("lines of redis-server")
        Thread.detachNewThread {
            while case let data = output.fileHandleForReading.availableData, !data.isEmpty {
                lines.append(String(decoding: data, as: UTF8.self))
            }
        }
        _ = try await lines.entries { $0.joined().contains("eady to accept connections") }
        try await body("unix://\(folder)/socket")
    }
}
