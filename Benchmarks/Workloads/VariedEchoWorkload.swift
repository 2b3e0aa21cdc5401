import Linkspan
import LinkspanSocketIO

/// W1 as apps have it: with several event names, listeners or namespaces, each message to the next of them.
enum VariedEchoWorkload {
    /// `names=N`: echoes of N events in turn, each with a listener of its own.
    static func run(names count: Int, server: EchoServer) async throws {
        let names = (0..<count).map { "echo\($0)" }
        try await Self.run("names=\(count)", names, listeners: 1, over: [Self.connect(server)], server: server)
    }

    /// `listeners=N`: echoes of one event to N listeners.
    static func run(listeners count: Int, server: EchoServer) async throws {
        try await Self.run(
            "listeners=\(count)", ["echo"], listeners: count, over: [Self.connect(server)], server: server)
    }

    /// `namespaces=N`: echoes in N namespaces of one socket in turn.
    static func run(namespaces count: Int, server: EchoServer) async throws {
        let connections = try (0..<count).map { try Self.connect(server, namespace: "/\($0)") }
        try await Self.run("namespaces=\(count)", ["echo"], listeners: 1, over: connections, server: server)
    }

    private static func connect(_ server: EchoServer, namespace: String = "") throws -> ConnectionHandler {
        try ConnectionBuilder("http://127.0.0.1:\(server.port)\(namespace)").transport(Network.socketIO).connect()
    }

    private static func run(
        _ row: String, _ names: [String], listeners: Int, over connections: [ConnectionHandler], server: EchoServer
    ) async throws {
        defer { for connection in connections { connection.release() } }
        let text = String(repeating: "x", count: 64)
        let next = Turn()
        let send: @Sendable (ConnectionHandler) -> Void = { try? $0.send(names[next.take() % names.count], text) }
        let window = Window { send(connections[next.take() % connections.count]) }
        for connection in connections {
            for await change in connection.stateChanges where change.to == .connected { break }
            for name in names {
                for number in 1...listeners {
                    try connection.on(name) { message in
                        precondition(message.payload[0]?.text.count == 66, "the echo is not what was sent")
                        // From the callback of its own connection, as apps do.
                        if number == listeners { window.cameBack(sending: { send(connection) }) }
                    }
                }
            }
        }
        let count = Length.of(200_000 / max(1, listeners / 10))
        await window.run(count / 20, width: 64)
        let measurement = Measurement(server: server)
        await window.run(count, width: 64)
        measurement.report(row, messages: count)
    }
}
