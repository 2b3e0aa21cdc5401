@testable internal import chat
internal import Linkspan
internal import LinkspanDevServer
internal import LinkspanInMemory
internal import LinkspanRuntime
internal import LinkspanSocketIO
internal import LinkspanWebSocket
internal import Testing

/// A client that missed more lines than the server sends at once can still enter.
@Suite
struct CatchUpTests {
    private struct Entry: Encodable {
        var name: String
        var rooms = ["lobby"]
        var seen: [String: Int]?
    }

    private struct Line: Codable {
        var room = "lobby"
        var text = String(repeating: "x", count: 8_192)
        var id = ""
        var seq: Int?
    }

    @Test(.timeLimit(.minutes(3)))
    func `a client that missed more than the server keeps for one gets the newest of it, over every wire`() async throws
    {
        let (chat, manager) = (ChatHub(), ConnectionManager())
        let ann = try ConnectionBuilder("memory://chat").transport(.inMemory(chat.hub))
            .credentials(.fixed(try Credentials(auth: Entry(name: "ann")))).connect(by: manager)
        let last = 3_000
        for number in 1...last { _ = try await ann.request("say", Line(id: "\(number)")) }
        let server = DevServer(
            hub: chat.hub, configuration: .init { $0.introduction = .required(within: .seconds(60)) })
        try await server.start()
        let wires: [(url: String, transport: any Transport)] = [
            (server.socketIOURL, .socketIO(.init { $0.carriers = .polling })),
            (server.socketIOURL, .socketIO(.init { $0.carriers = .webSocket })), (server.webSocketURL, .webSocket),
        ]
        for (url, transport) in wires {
            let bob = try ConnectionBuilder(url).transport(transport)
                .credentials(.fixed(try Credentials(auth: Entry(name: "bob", seen: ["lobby": 0])))).build()
            let manager = ConnectionManager()
            let (handler, bytes) = (try manager.connect(bob), Lock(0))
            let lines = try handler.events("message", capacity: last, bytes: 64 << 20)
            try handler.onAny { message in bytes.withLock { $0 += message.payload.byteCount } }
            for await line in lines where try line.message.decode(Line.self).seq == last { break }
            #expect(handler.state == .connected)
            #expect(handler.status.history.count { $0.to == .connected } == 1, "it came back")
            #expect(bytes.withLock { $0 } > 3 << 20)
            await manager.shutdown()
        }
        await manager.shutdown()
        await server.stop()
    }
}
