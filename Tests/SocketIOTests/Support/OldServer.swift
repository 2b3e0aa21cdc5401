internal import Foundation
internal import LinkspanRuntime
internal import TestSupport

/// The server of the old programs, in a process of its own that ends with this one.
final class OldServer: Sendable {
    private struct Run: Sendable {
        let process: Process
        /// Its closing ends the server.
        let input: Pipe
        let exit: Journal<Int32>
    }

    /// A server that could not be started.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private static let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    private let command: [String]
    private let run = Lock<Run?>(nil)
    private let chosenPort = Lock(0)

    /// - Parameters:
    ///   - arguments: options besides the port.
    ///   - script: the server's file among the tests.
    ///   - environment: the Python environment that it needs.
    init(
        _ arguments: [String] = [], script: String = "SocketIOTests/servers/old_programs.py",
        environment: String = ".venv"
    ) {
        let folder = Self.tests.deletingLastPathComponent()
        self.command =
            [
                folder.deletingLastPathComponent().appendingPathComponent("\(environment)/bin/python").path, "-B", "-u",
                folder.appendingPathComponent(script).path, "--until-eof",
            ] + arguments
    }

    /// Runs it for as long as `body` does.
    static func use(
        _ server: OldServer = OldServer(), _ body: (OldServer) async throws -> Void
    ) async throws {
        try await server.start()
        do {
            try await body(server)
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    /// Its URL, the same after a restart.
    var url: URL { self.url("http") }

    func url(_ scheme: String, path: String = "") -> URL {
        URL(string: "\(scheme)://127.0.0.1:\(self.chosenPort.withLock { $0 })\(path)") ?? URL(fileURLWithPath: "/")
    }

    func start() async throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: self.command[0])
        process.arguments = self.command.dropFirst() + ["--port", "\(self.chosenPort.withLock { $0 })"]
        let (input, output, exit) = (Pipe(), Pipe(), Journal<Int32>("the end of the server"))
        (process.standardInput, process.standardOutput) = (input, output)
        process.terminationHandler = { exit.append($0.terminationStatus) }
        let line = Journal<String>("the port of the server")
        Thread.detachNewThread {
            var text = ""
            while !text.contains("\n") {
                let data = output.fileHandleForReading.availableData
                if data.isEmpty { break }
                text += String(decoding: data, as: UTF8.self)
            }
            line.append(text)
        }
        try process.run()
        self.run.withLock { $0 = Run(process: process, input: input, exit: exit) }
        let text = try await line.first(1)[0]
        guard let port = Int(text.dropFirst("listening ".count).prefix { $0.isNumber }) else {
            throw Failure(description: "the server does not listen: '\(text)'")
        }
        self.chosenPort.withLock { $0 = port }
    }

    /// Ends it without a chance to say goodbye.
    func stop() async {
        let run = self.run.withLock { run in
            defer { run = nil }
            return run
        }
        guard let run else { return }
        kill(run.process.processIdentifier, SIGKILL)
        _ = try? await run.exit.first(1)
    }

    func restart() async throws {
        await self.stop()
        try await self.start()
    }
}
