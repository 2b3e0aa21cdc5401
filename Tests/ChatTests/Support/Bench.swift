internal import Foundation

/// What one test runs: servers, chats and a folder, all of which are gone when the test ends, however it ends.
actor Bench {
    /// A folder for the files of the test.
    nonisolated let folder: String
    private let newcomers: AsyncStream<Child>
    private let arrivals: AsyncStream<Child>.Continuation
    private var children: [Child] = []

    /// Runs a scenario.
    static func run(_ scenario: @escaping @Sendable (Bench) async throws -> Void) async throws {
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
    func start(_ name: String, _ command: [String], environment: [String: String] = [:]) throws -> Child {
        let child = try Child(name, command, environment: environment)
        self.children.append(child)
        self.arrivals.yield(child)
        return child
    }

    /// Starts the chat with these arguments.
    func chat(_ arguments: [String], environment: [String: String] = [:]) throws -> Child {
        let name = arguments.firstIndex(of: "--name").flatMap { arguments.dropFirst($0 + 1).first }
        return try self.start(name ?? "chat", [try Place.chat()] + arguments, environment: environment)
    }

    /// Lets somebody join the lobby, and returns when the link is up.
    func join(_ name: String, _ transport: Wire, _ server: ChatServer) async throws -> Child {
        let chat = try self.chat(["join", "--name", name] + (await server.arguments(for: transport)))
        try await chat.output.wait(forLine: "* connected over \(transport)")
        return chat
    }

    /// Runs the chat to its end, with nothing to say.
    func runChat(_ arguments: [String], environment: [String: String] = [:]) async throws -> Ended {
        let chat = try self.chat(arguments, environment: environment)
        try? chat.endInput()
        return Ended(
            status: try await chat.exit(), output: try await chat.output.all(), errors: try await chat.errors.all())
    }

    /// Writes a file of the test and returns its path.
    nonisolated func file(_ name: String, _ text: String) throws -> String {
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
struct Ended: Sendable {
    var status: Int
    var output: [String]
    var errors: [String]
}

/// What carries the chat to the server.
enum Wire: String, Sendable, CustomStringConvertible {
    case socketio
    case websocket

    var description: String { self.rawValue }
}
