internal import Foundation
internal import Linkspan
internal import LinkspanConfiguration
internal import LinkspanDevServer
internal import LinkspanInMemory
internal import LinkspanMessaging
internal import LinkspanSocketIO
internal import LinkspanWebSocket
internal import TestSupport
internal import Testing

/// Two real servers, and an app that knows them from its file alone.
@Suite(.timeLimit(.minutes(2)))
struct FileFailoverTests {
    private static func server(_ name: String) async throws -> (server: DevServer, hub: InMemoryHub) {
        let hub = InMemoryHub()
        hub.onConnect { peer in peer.on("who") { $0.reply((try? Payload(name)) ?? .empty) } }
        let server = DevServer(hub: hub)
        try await server.start()
        return (server, hub)
    }

    private static func plan(_ text: String) throws -> MessagingPlan {
        let file = FileManager.default.temporaryDirectory.appending(path: "linkspan-\(UUID().uuidString).yaml")
        try text.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        var catalog = Catalog()
        catalog.add(.socketIO)
        catalog.add(.webSocket)
        return try ConfigurationLoader(catalog: catalog).load(file: file.path, environment: [:]).plan
    }

    @Test(arguments: ["socketio", "websocket"])
    func `when the server of the file is gone, its other endpoint serves, until the first is back`(
        adapter: String
    ) async throws {
        let (first, firstHub) = try await Self.server("first")
        let (second, _) = try await Self.server("second")
        let urls = [first, second].map { adapter == "socketio" ? $0.socketIOURL : $0.webSocketURL }
        let messaging = try await Messaging.start(
            try Self.plan(
                """
                linkspan:
                  transport: { adapter: \(adapter), \(adapter): { url: "\(urls[0])" } }
                  connection:
                    endpoints: ["\(urls[1])"]
                    endpointReturnAfter: 2
                    retryFirstSpread: 0
                    retryInitial: 0.05
                    retryEarlyCap: 0.1
                """))
        let connection = try await messaging.connect()
        try await connection.connected(within: .seconds(30))
        #expect(try await connection.request("who").decode(String.self) == "first")

        first.drop()
        await first.stop()
        #expect(try await connection.deliver("who").decode(String.self) == "second")
        #expect(try connection.status.endpoint == ConnectionURL(urls[1]))

        try await first.start()
        try await eventually { !firstHub.peers.isEmpty }
        #expect(try await connection.deliver("who").decode(String.self) == "first")
        await messaging.stop()
        await first.stop()
        await second.stop()
    }
}
