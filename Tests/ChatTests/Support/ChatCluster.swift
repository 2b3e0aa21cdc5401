internal import Foundation
internal import TestedPrograms

/// What `cluster.sh` starts: several servers of one chat and a front for them, of which servers can be killed.
actor ChatCluster {
    /// A line as the servers have numbered and kept it.
    struct Line: Sendable {
        var number: Int
        var from: String
        var text: String
    }

    private struct Server {
        var process: Int32
        var urls: [Wire: String]
        /// The process in place of the one that the script has started.
        var successor: Child?
    }

    private let bench: Bench
    private let script: Child
    private let redis: String
    private let front: [Wire: String]
    private var servers: [Server]

    /// Starts everything on free ports, and returns when all of it listens.
    static func start(on bench: Bench) async throws -> ChatCluster {
        let script = "\(Place.root)/Samples/Chat/cluster.sh"
        let venv = URL(fileURLWithPath: try Place.python()).deletingLastPathComponent().deletingLastPathComponent().path
        let options = ["--host", Place.unsharedAddress(), "--port", "0", "--websocket-port", "0", "--until-eof"]
        let command = [try Place.python(), "-c", Self.unblocker, script] + options
        let child = try await bench.start("the cluster", command, environment: ["VENV": venv])
        do {
            return try Self(bench, child, try await child.output.wait(forLine: "ready", within: .seconds(90)))
        } catch {
            throw Transcript.Missing(description: "\(error)\n\(await child.errors.lines.joined(separator: "\n"))")
        }
    }

    private init(_ bench: Bench, _ script: Child, _ lines: [String]) throws {
        let rows = lines.map { $0.split(separator: " ").map(String.init) }
        let servers = rows.filter { $0.first == "server" && $0.count == 4 }
        guard let redis = rows.first(where: { $0.first == "redis" && $0.count == 3 }),
            let front = rows.first(where: { $0.first == "front" && $0.count == 4 })
        else { throw Transcript.Missing(description: "neither redis nor a front in \(lines)") }
        self.bench = bench
        self.script = script
        self.redis = redis[2]
        self.front = [.socketio: front[2], .websocket: front[3]]
        self.servers = servers.map {
            Server(process: Int32($0[1]) ?? 0, urls: [.socketio: $0[2], .websocket: $0[3]])
        }
    }

    /// The flags with which the chat reaches whatever server lives, or one of them.
    func arguments(for wire: Wire, server: Int? = nil) -> [String] {
        let urls = server.map { self.servers[$0].urls } ?? self.front
        return ["--transport", wire.rawValue, "--url", urls[wire] ?? ""]
    }

    /// Ends a server without a chance to say or write anything.
    func kill(_ number: Int) async throws {
        if let successor = self.servers[number].successor {
            await successor.kill()
            return
        }
        let process = self.servers[number].process
        guard process > 0, Foundation.kill(process, SIGKILL) == 0 else {
            throw Transcript.Missing(description: "server \(number) is not there")
        }
        // It is not our child, so that nobody tells us when its sockets are closed.
        for _ in 0..<3_000 where Foundation.kill(process, 0) == 0 { try await Task.sleep(for: .milliseconds(10)) }
    }

    /// Starts a server again where it was.
    func restart(_ number: Int) async throws {
        let ports = [("--port", Wire.socketio), ("--websocket-port", .websocket)].flatMap { option, wire in
            let port = self.servers[number].urls[wire].flatMap(URL.init(string:))?.port ?? 0
            return [option, "\(port)"]
        }
        let host = self.servers[number].urls[.socketio].flatMap(URL.init(string:))?.host ?? ""
        let options = ["--host", host] + ports + ["--redis", self.redis]
        let command = [try Place.python(), "-c", ChatServer.guardian, "\(Place.root)/Samples/Chat/server.py"]
        let child = try await self.bench.start("server \(number)", command + options)
        self.servers[number].successor = child
        do {
            try await child.output.wait(forLine: "listening ", times: 2)
        } catch {
            throw Transcript.Missing(description: "\(error)\n\(await child.errors.lines.joined(separator: "\n"))")
        }
    }

    /// All lines that were taken in the lobby.
    func kept() async throws -> [Line] {
        let script = """
            import redis, sys
            for id, line in redis.from_url(sys.argv[1], decode_responses=True).xrange("linkspan-chat:lines:lobby"):
                print(id.partition("-")[0], line["from"], line["text"])
            """
        let reader = try await self.bench.start("redis", [try Place.python(), "-c", script, self.redis])
        return try await reader.output.all().map {
            let fields = $0.split(separator: " ", maxSplits: 2).map(String.init)
            guard fields.count == 3, let number = Int(fields[0]) else {
                throw Transcript.Missing(description: "not a line: \($0)")
            }
            return Line(number: number, from: fields[1], text: fields[2])
        }
    }

    /// Runs a program that can be told to end: a thread of the tests has signals blocked, which all that it starts
    /// inherits.
    private static let unblocker = """
        import os, signal, sys
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.execv(sys.argv[1], sys.argv[1:])
        """

    /// Ends everything, and returns the status of the script.
    func end() async throws -> Int {
        try self.script.endInput()
        return try await self.script.exit()
    }
}

extension Bench {
    /// Lets somebody join the lobby, through the front or at one of the servers, and returns when the link is up.
    func join(
        _ name: String, _ transport: Wire, _ cluster: ChatCluster, server: Int? = nil
    ) async throws -> Child {
        let arguments = await cluster.arguments(for: transport, server: server)
        let chat = try self.chat(["join", "--name", name] + arguments)
        try await chat.output.wait(forLine: "* connected over \(transport)")
        return chat
    }
}
