internal import Foundation
internal import Linkspan
internal import LinkspanBrokers
internal import LinkspanNetwork
internal import LinkspanWebSocket
internal import Testing
internal import TestSupport
internal import TestedBackEnds

#if canImport(Glibc)
internal import Glibc
#endif

/// A broker of a test's own, with its data in a folder of its own, and the connections of the test.
final class Broker: Sendable {
    enum Kind: String {
        case mosquitto, nats = "nats-server"
    }

    /// A node: its process and its ports for WebSockets and for its own wire.
    struct Node: Decodable {
        let pid: Int32
        let port: Int
        let plain: Int
    }

    let server: PythonServer
    private let folder: String
    let loop = makeLoop(name: "clients")
    let manager = ConnectionManager(options: .init { $0.attempts.spacing = .milliseconds(20) })

    private init(_ kind: Kind, _ options: [String]) {
        self.folder = NSTemporaryDirectory() + "broker-\(UUID().uuidString)"
        self.server = PythonServer("broker.py", ["--broker", kind.rawValue, "--folder", self.folder] + options)
    }

    /// Runs `body` with a broker.
    ///
    /// - Parameters:
    ///   - kind: which one.
    ///   - options: the options of `broker.py`.
    ///   - body: the test.
    /// - Throws: what the test does, or that there is no broker.
    static func run(_ kind: Kind, _ options: String..., body: (Broker) async throws -> Void) async throws {
        try await self.run(kind, options, body: body)
    }

    /// Runs `body` with a broker.
    static func run(_ kind: Kind, _ options: [String], body: (Broker) async throws -> Void) async throws {
        let broker = Broker(kind, options)
        defer { try? FileManager.default.removeItem(atPath: broker.folder) }
        try await broker.server.use {
            let outcome: Result<Void, any Error>
            do { outcome = .success(try await body(broker)) } catch { outcome = .failure(error) }
            await broker.manager.shutdown()
            broker.loop.shutdown()
            try outcome.get()
        }
    }

    /// The nodes, as they were started last.
    var nodes: [Node] {
        get throws {
            let data = try Data(contentsOf: URL(fileURLWithPath: "\(self.folder)/nodes.json"))
            return try JSONDecoder().decode([Node].self, from: data)
        }
    }

    /// Sends a signal to a node.
    func signal(_ number: Int32, to node: Int = 0) throws { _ = kill(try self.nodes[node].pid, number) }

    /// Returns when mosquitto has written a file after now.
    func hasSaved() async throws {
        let (file, start) = ("\(self.folder)/mosquitto.db", Date())
        try await eventually("mosquitto writes its file") {
            let written = try? FileManager.default.attributesOfItem(atPath: file)[.modificationDate] as? Date
            return (written ?? .distantPast) > start
        }
    }

    /// Kills the first node, and starts it again with its data.
    func crash() async throws {
        try self.signal(SIGKILL)
        try await self.server.restart()
    }

    /// Connects to a node, or through a relay to the first one.
    func connect(
        _ language: any MessageProtocol, to node: Int = 0, through relay: PythonServer? = nil,
        auth: [String: String]? = nil,
        keepAlive: WebSocketKeepAlive? = .init(), maximumBytes: Int = 16 << 20,
        _ change: (inout ConnectionOptions) -> Void = { _ in }
    ) throws -> ConnectionHandler {
        let configuration = WebSocketConfiguration {
            $0.protocol = language
            $0.keepAlive = keepAlive
            $0.maximumMessageBytes = maximumBytes
        }
        let transport = WebSocketTransport(configuration, loop: self.loop)
        var credentials = Credentials()
        if let auth { credentials.auth = try Payload(auth) }
        // Two clients of a test are two connections.
        let account = "client \(UUID())"
        let port = try relay?.port ?? self.nodes[node].port
        return try ConnectionBuilder("ws://127.0.0.1:\(port)")
            .transport(transport)
            .credentials(.fixed(credentials, account: account))
            .options {
                $0.retry = RetryPolicy { _ in .milliseconds(50) }
                change(&$0)
            }
            .connect(by: self.manager)
    }

    /// Runs `body` while another client, of another make, is there.
    func withPeer(
        _ options: String..., of kind: Kind, at node: Int = 0, body: () async throws -> Void
    ) async throws {
        let script = kind == .mosquitto ? "mqtt_peer.py" : "nats_peer.py"
        let port = try self.nodes[node].port
        try await PythonServer(script, ["--broker-port", "\(port)"] + options).use { try await body() }
    }

    /// The messages of the stream `jobs` of a NATS server, as nats-py reads them.
    func kept(at node: Int = 0) async throws -> [(subject: String, content: PayloadValue)] {
        let connection = try self.connect(.nats, to: node)
        let kept = try connection.journal("client.kept")
        try await connection.up()
        try await connection.settle(".")
        try await self.withPeer(of: .nats, at: node) {
            try connection.send("peer.stream")
            try await kept.entries(within: .seconds(300)) { $0.last?.payload[0]?.isNull == true }
        }
        return try kept.entries.dropLast().map { message in
            let pair = try #require(message.payload[0]?.elements)
            return (pair[0].string ?? "", pair[1])
        }
    }

    /// The numbers in the stream `jobs`, by subject.
    func stream(at node: Int = 0) async throws -> [String: [Int]] {
        try await self.kept(at: node).reduce(into: [:]) { $0[$1.subject, default: []].append($1.content.int ?? -1) }
    }

    /// Runs `body` with a relay to the first node, whose end cuts the links through it.
    func withRelay(body: (PythonServer) async throws -> Void) async throws {
        let relay = PythonServer("relay.py", ["--to", "\(self.server.port)"])
        try await relay.use { try await body(relay) }
    }
}

extension ConnectionHandler {
    /// What comes of an event, as it comes.
    func journal(_ event: String) throws -> Journal<Message> {
        let journal = Journal<Message>("messages of \(event)")
        _ = try self.on(event) { journal.append($0) }
        return journal
    }

    /// The errors with which links have ended, and the marks of those that have opened.
    func changes() -> Journal<StateChange> {
        let journal = Journal<StateChange>("changes of state")
        self.onStateChange { journal.append($0) }
        return journal
    }

    /// Returns when the broker has taken everything that was sent before: a message of one's own has come back.
    ///
    /// Over MQTT one that is delivered comes behind all deliveries that wait for this listener; one that is sent overtakes them.
    func settle(_ separator: String = "/", by kind: Command.Kind = .send) async throws {
        let event = "settle\(separator)\(UUID().uuidString)"
        let back = try self.journal(event)
        try self.perform(Command(kind, event: event, payload: Payload("now")))
        _ = try await back.first(1)
        self.off(event)
    }

    /// Waits until it is up.
    func up() async throws { _ = try await self.connected(within: .seconds(60)) }
}
