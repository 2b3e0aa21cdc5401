internal import Foundation

/// A server in a process of its own, which can be killed and comes back at the same place.
package actor ChatServer {
    /// What serves: `server.py`, `chat serve --history`, or `chat serve` alone.
    package enum Program: Sendable { case python, chat, forgetful }

    private let bench: Bench
    private let program: Program
    private let options: [String]
    private var ports: [Wire: Int] = [.socketio: 0, .websocket: 0]
    private var child: Child?
    private let isSecure: Bool
    /// Kept for a server that comes back; certificates name the common one.
    private let host: String
    /// The file that keeps the lines.
    package nonisolated let history: String

    /// Starts a server on free ports, and returns when it listens.
    package static func start(
        on bench: Bench, _ options: [String] = [], _ program: Program = .python
    ) async throws -> ChatServer {
        let server = ChatServer(bench, options, program)
        try await server.start()
        return server
    }

    private init(_ bench: Bench, _ options: [String], _ program: Program) {
        self.bench = bench
        self.program = program
        self.options = options
        self.isSecure = options.contains("--ssl-cert")
        self.host = self.isSecure ? "127.0.0.1" : Place.unsharedAddress()
        self.history = "\(bench.folder)/history-\(UUID().uuidString).jsonl"
    }

    /// Starts it again where it was.
    package func start() async throws {
        if self.program != .python { return try await self.startChat() }
        let script = "\(Place.root)/Samples/Chat/server.py"
        let ports = ["--port", "\(self.ports[.socketio] ?? 0)", "--websocket-port", "\(self.ports[.websocket] ?? 0)"]
        let place = ["--host", self.host] + ports
        let command = [try Place.python(), "-c", Self.guardian, script] + place + ["--history", self.history]
        let child = try await self.bench.start("the server", command + self.options)
        self.child = child
        do {
            for line in try await child.output.wait(forLine: "listening ", times: 2) {
                let words = line.split(separator: " ")
                guard words.count == 3, let wire = Wire(rawValue: "\(words[1])"), let url = URL(string: "\(words[2])")
                else { continue }
                self.ports[wire] = url.port
            }
        } catch {
            let errors = await child.errors.lines.joined(separator: "\n")
            throw Transcript.Missing(description: "\(error)\n\(errors)")
        }
    }

    private func startChat() async throws {
        let history = self.program == .chat ? ["--history", self.history] : []
        let place = ["serve", "--host", self.host, "--port", "\(self.ports[.socketio] ?? 0)"]
        let child = try await self.bench.chat(place + history + self.options)
        self.child = child
        let line = try await child.output.wait(forLine: "serving ").last ?? ""
        let port = line.split(separator: ":").last.flatMap { Int($0) }
        self.ports = [.socketio: port ?? 0, .websocket: port ?? 0]
    }

    /// Ends it without a chance to say or write anything.
    package func kill() async { await self.child?.kill() }

    /// Stops it from running, its sockets staying open.
    package func pause() { self.child?.pause() }

    /// Lets it run on.
    package func resume() { self.child?.resume() }

    /// The endpoint.
    package func url(for wire: Wire) -> String {
        let scheme = wire == .socketio ? "http" : "ws"
        return "\(scheme)\(self.isSecure ? "s" : "")://\(self.host):\(self.ports[wire] ?? 0)"
    }

    /// The flags with which the chat reaches it.
    package func arguments(for wire: Wire) -> [String] { ["--transport", wire.rawValue, "--url", self.url(for: wire)] }

    /// What one person has said, in the order in which the server took it.
    package nonisolated func kept(from name: String) throws -> [String] {
        struct Line: Decodable {
            var from: String?
            var text: String?
        }
        let data = try Data(contentsOf: URL(fileURLWithPath: self.history))
        return try data.split(separator: UInt8(ascii: "\n")).map { try JSONDecoder().decode(Line.self, from: $0) }
            .filter { $0.from == name }.compactMap(\.text)
    }

    /// Runs a script that ends when its input does: a server must not outlive tests that crash.
    package static let guardian = """
        import os, runpy, sys, threading
        def watch():
            sys.stdin.buffer.read()
            os._exit(3)
        threading.Thread(target=watch, daemon=True).start()
        sys.argv = sys.argv[1:]
        sys.path[0] = os.path.dirname(sys.argv[0])
        runpy.run_path(sys.argv[0], run_name="__main__")
        """
}
