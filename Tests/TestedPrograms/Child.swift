internal import Foundation

/// A process that a test runs, with what it writes.
///
/// Made by ``Bench``, which also ends it.
package final class Child: Sendable {
    package let output: Transcript
    package let errors: Transcript
    private let process: Process
    private let input: FileHandle
    private let status: Transcript
    private let sources: [(source: AsyncStream<Data>, transcript: Transcript)]

    /// Starts a process.
    ///
    /// - Parameters:
    ///   - name: what to call it in errors.
    ///   - command: the path of the program and its arguments.
    ///   - environment: variables besides those of the tests, of which the product's own are left out.
    /// - Throws: what `Process` throws when there is no such program.
    package init(_ name: String, _ command: [String], environment: [String: String]) throws {
        // Otherwise writing to a process that has ended would end this one, too.
        signal(SIGPIPE, SIG_IGN)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: command[0])
        process.arguments = Array(command.dropFirst())
        let inherited = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("LINKSPAN_") }
        // The user's own configuration does not count.
        process.environment = inherited.merging(["XDG_CONFIG_HOME": "/nowhere"]) { $1 }.merging(environment) { $1 }
        let (input, output, errors) = (Self.pipe(), Self.pipe(), Self.pipe())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = errors
        let (exit, exited) = AsyncStream<Data>.makeStream()
        process.terminationHandler = {
            let isSignal = $0.terminationReason == .uncaughtSignal
            exited.yield(Data("\(isSignal ? -$0.terminationStatus : $0.terminationStatus)\n".utf8))
            exited.finish()
        }
        try process.run()
        self.process = process
        self.input = input.fileHandleForWriting
        self.output = Transcript("output of \(name)")
        self.errors = Transcript("errors of \(name)")
        self.status = Transcript("status of \(name)")
        self.sources = [(Self.read(output), self.output), (Self.read(errors), self.errors), (exit, self.status)]
    }

    /// Carries what the process writes to the transcripts, until it has ended.
    package func run() async {
        // `Process` stays in memory, and its pipes with it.
        defer { try? self.input.close() }
        await withTaskGroup(of: Void.self) { group in
            for (source, transcript) in self.sources {
                group.addTask {
                    for await data in source { await transcript.append(data) }
                    await transcript.end()
                }
            }
        }
    }

    /// Types lines.
    package func type(_ lines: [String]) throws { try self.type(raw: lines.map { "\($0)\n" }.joined()) }

    /// Types characters as they are.
    package func type(raw text: String) throws { try self.input.write(contentsOf: Data(text.utf8)) }

    /// Ends the input.
    package func endInput() throws { try self.input.close() }

    #if os(Linux)
    /// The memory of its own that it takes: not the pages of its program, which the system reads and drops as it likes.
    package var ownBytes: Int? {
        let path = "/proc/\(self.process.processIdentifier)/statm"
        let pages = (try? String(contentsOfFile: path, encoding: .utf8))?.split(separator: " ").compactMap { Int($0) }
        guard let pages, pages.count > 2 else { return nil }
        return (pages[1] - pages[2]) * sysconf(Int32(_SC_PAGESIZE))
    }
    #endif

    /// Waits until it has ended by itself.
    ///
    /// - Returns: its status; the negative number of the signal when one has ended it.
    package func exit(within limit: Duration = .seconds(90)) async throws -> Int {
        let lines = try await self.status.wait(for: "end", within: limit) { _ in true }
        _ = (try await self.output.all(), try await self.errors.all())
        return Int(lines[0]) ?? .min
    }

    /// The lines of standard error, without warnings of slow listeners: on a busy machine every listener may be slow.
    package var complaints: [String] {
        get async { await self.errors.lines.filter { !$0.contains("A listener blocked the executor") } }
    }

    /// Ends it at once, whatever it is doing, and waits until it is gone.
    package func kill() async {
        self.send(SIGKILL)
        _ = try? await self.status.all()
    }

    /// Stops it from running, its sockets staying open.
    package func pause() { self.send(SIGSTOP) }

    /// Asks it to end.
    package func terminate() { self.send(SIGTERM) }

    /// Asks it to end, as Ctrl-C does.
    package func interrupt() { self.send(SIGINT) }

    /// Lets it run on.
    package func resume() { self.send(SIGCONT) }

    private func send(_ number: Int32) {
        if self.process.isRunning { _ = Foundation.kill(self.process.processIdentifier, number) }
    }

    /// A pipe whose ends no other process gets by chance: its reader would never see the end.
    private static func pipe() -> Pipe {
        let pipe = Pipe()
        for end in [pipe.fileHandleForReading, pipe.fileHandleForWriting] {
            _ = fcntl(end.fileDescriptor, F_SETFD, FD_CLOEXEC)
        }
        return pipe
    }

    /// Reads on a thread of its own, because a read cannot be cancelled; it ends with the process.
    private static func read(_ pipe: Pipe) -> AsyncStream<Data> {
        AsyncStream { chunks in
            let file = pipe.fileHandleForReading
            Thread.detachNewThread {
                while true {
                    let data = file.availableData
                    guard !data.isEmpty else { break }
                    chunks.yield(data)
                }
                try? file.close()
                chunks.finish()
            }
        }
    }
}
