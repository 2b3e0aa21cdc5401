internal import Foundation
internal import LinkspanBrokers
internal import LinkspanKit
internal import TestSupport
internal import Testing

/// A feature as an app has it, which knows neither transport nor protocol.
private struct Stock: Sendable {
    struct Change: Codable, Sendable, Hashable {
        var item: String
        var count: Int
    }

    let connection: any Connection
    let changes = Journal<Change>("changes of the stock")

    init(_ connection: any Connection) throws {
        self.connection = connection
        let changes = self.changes
        try connection.on("change", as: Change.self) { change in
            if case .success(let change) = change { changes.append(change) }
        }
    }

    func count(of item: String) async throws -> Int {
        try await self.connection.request("count", item).decode(Int.self)
    }
}

/// The choice of a broker in a file.
@Suite(.timeLimit(.minutes(2)))
struct BrokerFileTests {
    @Test(arguments: [("mqtt", "mosquitto"), ("nats", "nats-server")])
    func `one word of the file has a feature talk to a broker`(name: String, program: String) async throws {
        let folder = NSTemporaryDirectory() + "broker-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let broker = PythonServer("broker.py", ["--broker", program, "--folder", folder])
        try await broker.use {
            let file = "\(folder)/app.yaml"
            try """
            linkspan:
              transport:
                adapter: websocket
                websocket: { url: "ws://127.0.0.1:\(broker.port)", protocol: \(name) }
            """.write(toFile: file, atomically: true, encoding: .utf8)
            let app = try ConfigurationLoader(catalog: .standard).load(file: file, environment: [:])
            let messaging = try await Messaging.start(app.plan)
            let stock = try Stock(try await messaging.connect())
            // The other side: a program of its own over the same broker.
            let language: any MessageProtocol = name == "mqtt" ? .mqtt : .nats
            let other = try ConnectionBuilder("ws://127.0.0.1:\(broker.port)")
                .transport(.webSocket(.init { $0.protocol = language })).connect()
            let counted = Journal<String>("what was counted")
            _ = try other.on("count") { message in
                counted.append(message.payload[0]?.string ?? "")
                message.reply(payload: (try? Payload(7)) ?? .empty)
            }
            // Until both subscriptions are there.
            try await eventually("the other side answers") {
                (try? await stock.connection.request("count", "tea", timeout: .milliseconds(200))) != nil
            }
            #expect(try await stock.count(of: "tea") == 7)
            try other.send("change", Stock.Change(item: "tea", count: 6))
            #expect(try await stock.changes.first(1) == [Stock.Change(item: "tea", count: 6)])
            #expect(Set(counted.entries) == ["tea"])
            other.release()
            await messaging.stop()
        }
    }
}
