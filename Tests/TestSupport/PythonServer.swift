internal import Foundation
internal import LinkspanRuntime

/// A server script in a process of its own.
///
/// The process ends with ``stop()``, and on its own when this process is gone: it watches its standard input.
package final class PythonServer: Sendable {
    /// A server that could not be had, and what to do about it.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private struct Run: Sendable {
        let process: Process
        /// Holds the writing end, whose closing ends the server.
        let input: Pipe
        let exit: Journal<Int32>
    }

    private let script: String
    private let arguments: [String]
    private let environment: String
    private let certificates: Certificates?
    private let errors = Journal<Data>("errors of the server")
    private let output = Journal<Data>("output of the server")
    private let run = Lock<Run?>(nil)
    private let chosenPort = Lock(0)

    /// - Parameters:
    ///   - script: the file's name in the folder of servers.
    ///   - arguments: its options besides the port.
    ///   - environment: the Python environment that it needs.
    ///   - certificates: those of which it shows the good one; nil for a server without TLS.
    package init(
        _ script: String, _ arguments: [String] = [], environment: String = ".venv", certificates: Certificates? = nil
    ) {
        self.certificates = certificates
        self.script = script
        self.arguments = arguments + (certificates?.options("good") ?? [])
        self.environment = environment
    }

    /// Where it listens; the same after a restart.
    package var port: Int { self.chosenPort.withLock { $0 } }

    /// Whether it speaks TLS because of the wire.
    package var isSecure: Bool { self.certificates != nil }

    /// The file of the authority that its clients have to trust.
    package var authority: String? { self.certificates?.authority }

    /// What it wrote to standard error.
    package var errorText: String {
        String(decoding: self.errors.entries.reduce(into: Data()) { $0 += $1 }, as: UTF8.self)
    }

    /// Whether it has written a word to standard output, in a line of its own.
    package func hasSaid(_ word: String) -> Bool { Self.lines(self.output.entries).contains(word) }

    /// Waits until it has written a word to standard output, in a line of its own.
    package func says(_ word: String) async throws {
        try await self.output.entries { Self.lines($0).contains(word) }
    }

    private static func lines(_ chunks: [Data]) -> [String] {
        let text = String(decoding: chunks.reduce(into: Data()) { $0 += $1 }, as: UTF8.self)
        return text.split(separator: "\n").map(String.init)
    }

    /// Starts it and returns when it listens.
    package func start() async throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try Self.python(self.environment))
        let options = ["--until-eof", "--port", String(self.port)] + self.arguments
        process.arguments = ["-u", "\(Self.tests.path)/InteropTests/servers/\(self.script)"] + options
        let (input, output, errors) = (Pipe(), Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = errors
        let lines = Journal<Data>("the port of \(self.script)")
        Self.read(output, into: lines, self.output)
        Self.read(errors, into: self.errors)
        let exit = Journal<Int32>("the end of \(self.script)")
        process.terminationHandler = { exit.append($0.terminationStatus) }
        try process.run()
        self.run.withLock { $0 = Run(process: process, input: input, exit: exit) }
        do {
            try await self.readPort(lines)
        } catch {
            await self.stop()
            throw Failure(description: "\(self.script) does not listen: \(error)\n\(self.errorText)")
        }
    }

    /// Starts it for as long as `body` runs.
    package func use(_ body: () async throws -> Void) async throws {
        try await self.start()
        do {
            try await body()
        } catch {
            await self.stop()
            throw error
        }
        await self.stop()
    }

    /// Ends it without a chance to say goodbye, and returns when it is gone.
    package func stop() async {
        let run = self.run.withLock { run in
            defer { run = nil }
            return run
        }
        guard let run else { return }
        kill(run.process.processIdentifier, SIGKILL)
        _ = try? await run.exit.first(1)
        // `Process` stays in memory, and its pipes with it.
        try? run.input.fileHandleForWriting.close()
    }

    /// Ends it and starts it again on the same port.
    package func restart() async throws {
        await self.stop()
        try await self.start()
    }

    /// Stops it from running, its sockets staying open.
    package func pause() { self.signal(SIGSTOP) }

    /// Lets it run on.
    package func resume() { self.signal(SIGCONT) }

    private func signal(_ number: Int32) {
        if let run = self.run.withLock({ $0 }) { kill(run.process.processIdentifier, number) }
    }

    private func readPort(_ lines: Journal<Data>) async throws {
        let newline = UInt8(ascii: "\n")
        // The end of the file comes as empty data.
        let chunks = try await lines.entries { $0.contains { $0.contains(newline) || $0.isEmpty } }
        let line = String(decoding: chunks.reduce(into: Data()) { $0 += $1 }.prefix { $0 != newline }, as: UTF8.self)
        let words = line.split(separator: " ")
        guard words.count == 2, words[0] == "listening", let port = Int(words[1]) else {
            throw Failure(description: "it said '\(line)'")
        }
        self.chosenPort.withLock { $0 = port }
    }

    /// Reads a pipe to its end, on a thread: any other holder of the file could not know when it may be closed.
    private static func read(_ pipe: Pipe, into journals: Journal<Data>...) {
        let file = pipe.fileHandleForReading
        Thread.detachNewThread {
            var data: Data
            repeat {
                data = file.availableData
                for journal in journals { journal.append(data) }
            } while !data.isEmpty
            try? file.close()
        }
    }

    /// The folder of all tests.
    private static let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()

    private static func python(_ environment: String) throws -> String {
        let python = Self.tests.deletingLastPathComponent().appendingPathComponent("\(environment)/bin/python").path
        guard FileManager.default.isExecutableFile(atPath: python) else {
            throw Failure(description: "there is no \(python): run `make venv \(environment)/.ready`")
        }
        return python
    }
}
