import Foundation

/// A chat of the tour in a process of its own, which is killed.
@available(macOS 15, *)
final class DemoVictim: Sendable {
    private let process: Process
    private let input: FileHandle
    private let lines: AsyncStream<String>
    private let end: AsyncStream<Int32>

    /// Starts this program again, with other arguments.
    init(_ arguments: [String]) throws {
        let process = Process()
        process.executableURL = Bundle.main.executableURL
        process.arguments = arguments
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        let (end, ended) = AsyncStream<Int32>.makeStream()
        process.terminationHandler = { ended.yield($0.terminationStatus) }
        try process.run()
        self.process = process
        self.input = input.fileHandleForWriting
        self.end = end
        let file = output.fileHandleForReading
        self.lines = AsyncStream { lines in
            // A read cannot be cancelled; it ends with the process.
            Thread.detachNewThread {
                var rest = Data()
                while case let data = file.availableData, !data.isEmpty {
                    rest.append(data)
                    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                        lines.yield(String(decoding: rest[rest.startIndex..<end], as: UTF8.self))
                        rest.removeSubrange(rest.startIndex...end)
                    }
                }
                lines.finish()
            }
        }
    }

    func type(_ line: String) throws { try self.input.write(contentsOf: Data("\(line)\n".utf8)) }

    func endInput() throws { try self.input.close() }

    /// Shows its output until this text appears or it ends.
    func show(until last: String? = nil) async {
        for await line in self.lines {
            LineOutput.show("  ann's process  \(line)")
            if line == last { break }
        }
    }

    /// Ends it without a chance to do anything, and returns when it is gone.
    func kill() async {
        _ = Foundation.kill(self.process.processIdentifier, SIGKILL)
        _ = await self.exit()
    }

    /// Waits until it has ended.
    ///
    /// - Returns: its status.
    func exit() async -> Int32 {
        for await status in self.end { return status }
        return -1
    }
}
