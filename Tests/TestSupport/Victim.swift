internal import Foundation
internal import LinkspanRuntime
internal import Testing

/// The client process that a test kills, with what it says.
package final class Victim: Sendable {
    private let identifier: pid_t
    /// The lines of its output, and nil at its end.
    package let lines = Journal<String?>("lines of the client")
    private let errors: String
    private let status = Lock<Int32>(0)

    package init(_ arguments: [String], errors: String) throws {
        let (identifier, output) = try spawn([try Self.program()] + arguments, errors: errors)
        (self.identifier, self.errors) = (identifier, errors)
        let lines = self.lines
        // A read cannot be cancelled; it ends with the process.
        Foundation.Thread.detachNewThread {
            var rest = Data()
            var chunk = [UInt8](repeating: 0, count: 64 << 10)
            while true {
                let count = read(output, &chunk, chunk.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                rest.append(contentsOf: chunk[..<count])
                while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    lines.append(String(decoding: rest[rest.startIndex..<end], as: UTF8.self))
                    rest.removeSubrange(rest.startIndex...end)
                }
            }
            close(output)
            lines.append(nil)
        }
    }

    /// Beside the tests' own bundle.
    private static func program() throws -> String {
        let running = [Bundle.main.executableURL, URL(fileURLWithPath: CommandLine.arguments[0])].compactMap(\.self)
        let places = running.map { $0.deletingLastPathComponent().appendingPathComponent("outbox-client").path }
        return try #require(places.first { FileManager.default.isExecutableFile(atPath: $0) }, "no outbox-client")
    }

    /// Ends it at once.
    package func kill() { _ = Foundation.kill(self.identifier, SIGKILL) }

    /// Waits until it has ended.
    ///
    /// - Returns: what it said.
    package func end(within limit: Duration = .seconds(60)) async throws -> [String] {
        let lines: [String?]
        do {
            lines = try await self.lines.entries(within: limit) { $0.last == .some(nil) }
        } catch {
            self.kill()
            throw error
        }
        var status: Int32 = 0
        while waitpid(self.identifier, &status, 0) == -1, errno == EINTR {}
        self.status.withLock { $0 = status }
        return lines.compactMap(\.self)
    }

    /// Whether it ended in another way than by being killed or by itself.
    package var hasFailed: Bool { ![0, SIGKILL].contains(self.status.withLock { $0 }) }

    /// The end of what it wrote to its standard error.
    package var complaints: String {
        String(decoding: (FileManager.default.contents(atPath: self.errors) ?? Data()).suffix(2_000), as: UTF8.self)
    }
}
