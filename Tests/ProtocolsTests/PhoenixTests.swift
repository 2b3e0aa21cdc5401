internal import LinkspanKit

internal import TestSupport
internal import Testing

@testable internal import Protocols

/// A protocol as a third party writes it: with topics to join, references and heartbeats.
@Suite(.timeLimit(.minutes(2)))
struct PhoenixTests {
    private static func connect(
        _ server: PythonServer, token: String = "good", heartbeat: Duration = .seconds(30)
    ) throws -> ConnectionHandler {
        let configuration = WebSocketConfiguration { $0.protocol = PhoenixProtocol(heartbeat: heartbeat) }
        return try ConnectionBuilder("ws://127.0.0.1:\(server.port)/socket/websocket?vsn=2.0.0")
            .transport(.webSocket(configuration))
            .credentials(.fixed(try Credentials(auth: ["token": token])))
            .options { $0.retry = RetryPolicy { _ in .milliseconds(20) } }
            .connect()
    }

    @Test
    func `a topic is joined for its first listener, left after the last, and joined again after a loss`() async throws {
        let server = PythonServer("phoenix_server.py")
        try await server.use {
            let (one, other) = (try Self.connect(server), try Self.connect(server, token: "other"))
            let said = Journal<Message>("what was said")
            let subscription = try one.on("room:a/said") { said.append($0) }
            _ = try other.on("room:a/said") { _ in }
            _ = try other.on("room:a/left") { _ in }
            try await eventually("both have joined") {
                try await other.request("room:a/count")[0]?["members"]?.int == 2
            }
            try other.send("room:a/said", ["text": "hello"])
            #expect(try await said.first(1)[0].payload[0]?["text"]?.string == "hello")

            await server.stop()
            try await server.start()
            try await eventually("both have joined again") {
                (try? await other.request("room:a/count")[0]?["members"]?.int) == 2
            }
            try other.send("room:a/said", ["text": "again"])
            #expect(try await said.first(2)[1].payload[0]?["text"]?.string == "again")

            subscription.cancel()
            try await eventually("one has left") {
                try await other.request("room:a/count")[0]?["members"]?.int == 1
            }
            one.release()
            other.release()
        }
    }

    @Test
    func `refusals fail their requests alone, and a crashed channel is joined again`() async throws {
        let server = PythonServer("phoenix_server.py")
        try await server.use {
            let connection = try Self.connect(server)
            let said = Journal<Message>("what was said")
            _ = try connection.on("room:a/said") { said.append($0) }
            let error = await #expect(throws: LinkspanError.self) { try await connection.request("room:a/refuse") }
            #expect(error?.code == .messageRefused)
            #expect(error?.details?[0]?["reason"]?.string == "no")
            let wrong = await #expect(throws: LinkspanError.self) { try await connection.request("room:b/count") }
            #expect(wrong?.code == .encodingFailed)
            try connection.send("room:a/crash", [String: String]())
            try await eventually("it is joined again") {
                (try? await connection.request("room:a/count")[0]?["members"]?.int) == 1
            }
            #expect(connection.status.state == .connected)
            connection.release()
        }
    }

    @Test
    func `a server that answers no heartbeat is given up`() async throws {
        let server = PythonServer("phoenix_server.py", ["--silent"])
        try await server.use {
            let connection = try Self.connect(server, heartbeat: .milliseconds(100))
            try await eventually("the heartbeat is missed") { connection.status.lastError?.code == .heartbeatMissed }
            connection.release()
        }
    }

    @Test
    func `a channel that crashes again and again is joined again with each heartbeat`() throws {
        var session = PhoenixProtocol()
        _ = session.begin(SessionStart(url: try ConnectionURL("ws://h")))
        _ = try session.subscribe(to: "room:a/said")
        func receive(_ text: String) throws -> Int { try session.decode(text: Array(text.utf8)[...]).answers.count }
        let crash = #"["room:a",null,"room:a","phx_error",{}]"#
        #expect(try (0..<3).map { _ in try receive(crash) } == [1, 0, 0])
        for round in 1...3 {
            #expect(try session.deadlinePassed(at: .seconds(30 * round)).answers.count == 2)
            _ = try receive(#"[null,"heartbeat","phoenix","phx_reply",{"status":"ok","response":{}}]"#)
            #expect(try receive(crash) == 0)
        }
        _ = session.unsubscribe(from: "room:a/said")
        #expect(try session.deadlinePassed(at: .seconds(120)).answers.count == 1)
    }
}
