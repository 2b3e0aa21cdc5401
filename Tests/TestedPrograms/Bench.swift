internal import Foundation

/// What one test runs: servers, programs and a folder, all of which are gone when the test ends, however it ends.
package actor Bench {
    /// A folder for the files of the test.
    package nonisolated let folder: String
    private let newcomers: AsyncStream<Child>
    private let arrivals: AsyncStream<Child>.Continuation
    private var children: [Child] = []

    /// Runs a scenario.
    package static func run(_ scenario: @escaping @Sendable (Bench) async throws -> Void) async throws {
        let bench = try Bench()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                let result: Result<Void, any Error>
                do { result = .success(try await scenario(bench)) } catch { result = .failure(error) }
                await bench.end()
                try result.get()
            }
            for await child in bench.newcomers { group.addTask { await child.run() } }
            try await group.waitForAll()
        }
    }

    private init() throws {
        self.folder = NSTemporaryDirectory() + "linkspan-chat-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: self.folder, withIntermediateDirectories: true)
        (self.newcomers, self.arrivals) = AsyncStream.makeStream()
    }

    /// Starts a process.
    package func start(_ name: String, _ command: [String], environment: [String: String] = [:]) throws -> Child {
        let child = try Child(name, command, environment: environment)
        self.children.append(child)
        self.arrivals.yield(child)
        return child
    }

    /// Starts the chat with these arguments.
    package func chat(_ arguments: [String], environment: [String: String] = [:]) throws -> Child {
        let name = arguments.firstIndex(of: "--name").flatMap { arguments.dropFirst($0 + 1).first }
        return try self.start(name ?? "chat", [try Place.program("chat")] + arguments, environment: environment)
    }

    /// Lets somebody join the lobby, and returns when the link is up.
    package func join(_ name: String, _ transport: Wire, _ server: ChatServer) async throws -> Child {
        let chat = try self.chat(["join", "--name", name] + (await server.arguments(for: transport)))
        try await chat.output.wait(forLine: "* connected over \(transport)")
        return chat
    }

    /// Runs the chat to its end, with nothing to say.
    package func runChat(_ arguments: [String], environment: [String: String] = [:]) async throws -> Ended {
        try await self.end(of: try self.chat(arguments, environment: environment))
    }

    /// Starts the tool with these arguments.
    package func tool(_ arguments: [String], environment: [String: String] = [:]) throws -> Child {
        try self.start("linkspan", [try Place.program("linkspan")] + arguments, environment: environment)
    }

    /// Runs the tool to its end, with nothing to read.
    package func runTool(_ arguments: [String], environment: [String: String] = [:]) async throws -> Ended {
        try await self.end(of: try self.tool(arguments, environment: environment))
    }

    private func end(of child: Child) async throws -> Ended {
        try? child.endInput()
        return Ended(
            status: try await child.exit(), output: try await child.output.all(), errors: try await child.errors.all())
    }

    /// Writes a file of the test and returns its path.
    package nonisolated func file(_ name: String, _ text: String) throws -> String {
        let path = "\(self.folder)/\(name)"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    private func end() async {
        for child in self.children {
            // What it has started may outlive it, and ends with the input.
            try? child.endInput()
            await child.kill()
        }
        self.arrivals.finish()
        try? FileManager.default.removeItem(atPath: self.folder)
    }
}

/// What a process that has ended leaves behind.
package struct Ended: Sendable {
    package var status: Int
    package var output: [String]
    package var errors: [String]

    package init(status: Int, output: [String], errors: [String]) {
        (self.status, self.output, self.errors) = (status, output, errors)
    }
}

/// What carries the chat to the server.
package enum Wire: String, Sendable, CustomStringConvertible {
    case socketio
    case websocket

    package var description: String { self.rawValue }
}

/// Where the programs are that the tests run.
package enum Place {
    /// A program that is not there, and what to do about it.
    package struct Missing: Error, CustomStringConvertible {
        package let description: String
    }

    /// The root of the package.
    package static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path

    /// A program of the package, which was built into the folder that this bundle of tests was built into, or the path in
    /// a variable such as `TEST_CHAT`.
    package static func program(_ name: String) throws -> String {
        let variable = "TEST_\(name.uppercased())"
        if let chosen = ProcessInfo.processInfo.environment[variable] { return try self.executable(chosen) }
        // On Linux the bundle is the running executable; elsewhere a helper has loaded it.
        let bundles = Bundle.allBundles.filter { $0.bundlePath.hasSuffix(".xctest") }.map(\.bundleURL)
        let running = [Bundle.main.executableURL, URL(fileURLWithPath: CommandLine.arguments[0])].compactMap(\.self)
        let candidates = (bundles + running).map { $0.deletingLastPathComponent().appendingPathComponent(name).path }
        let found = candidates.first { FileManager.default.isExecutableFile(atPath: $0) }
        guard let found else {
            throw Missing(description: "no \(name) among \(candidates): run `swift build --product \(name)`")
        }
        return found
    }

    /// The Python that has the packages of the server.
    package static func python() throws -> String {
        let venv = ProcessInfo.processInfo.environment["TEST_VENV"] ?? "\(self.root)/.venv"
        do {
            return try self.executable("\(venv)/bin/python")
        } catch {
            throw Missing(description: "\(error): run `make venv`, or name another folder in TEST_VENV")
        }
    }

    /// A loopback address that nobody else uses: there the port of a server that was killed stays free for the next.
    package static func unsharedAddress() -> String {
        let numbers = (0..<3).map { _ in String(Int.random(in: 1...254)) }
        return "127.\(numbers.joined(separator: "."))"
    }

    private static func executable(_ path: String) throws -> String {
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw Missing(description: "there is no \(path)")
        }
        return path
    }
}
