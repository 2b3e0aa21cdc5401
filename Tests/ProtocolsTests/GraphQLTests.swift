internal import LinkspanKit

internal import TestSupport
internal import Testing

@testable internal import Protocols

/// A protocol as a third party writes it, against a server of another author (strawberry).
@Suite(.timeLimit(.minutes(2)))
struct GraphQLTests {
    private static let language = GraphQLProtocol([
        "double": "query ($number: Int!) { double(number: $number) }",
        "listeners": "query { listeners }",
        "say": "mutation ($text: String!) { say(text: $text) }",
        "said": "subscription { said }",
        "count": "subscription { count }",
        "wrong": "query { nothing }",
    ])

    private static func connect(_ server: PythonServer, token: String? = nil) throws -> ConnectionHandler {
        let configuration = WebSocketConfiguration { $0.protocol = Self.language }
        return try ConnectionBuilder("ws://127.0.0.1:\(server.port)/graphql").transport(.webSocket(configuration))
            .credentials(.fixed(try token.map { try Credentials(auth: ["token": $0]) } ?? Credentials()))
            .options { $0.retry = RetryPolicy { _ in .milliseconds(20) } }.connect()
    }

    @Test
    func `requests run operations, and listeners are subscriptions, again after a loss`() async throws {
        let server = PythonServer("graphql_server.py")
        try await server.use {
            let connection = try Self.connect(server)
            let said = Journal<Message>("what was said")
            let subscription = try connection.on("said") { said.append($0) }
            let counted = Journal<Message>("numbers")
            _ = try connection.on("count") { counted.append($0) }
            #expect(try await counted.first(3).map { $0.payload[0]?["count"]?.int } == [0, 1, 2])
            #expect(try await connection.request("double", ["number": 21])[0]?["double"]?.int == 42)
            #expect(try await connection.request("say", ["text": "hello"])[0]?["say"]?.int == 1)
            #expect(try await said.first(1)[0].payload[0]?["said"]?.string == "hello")

            await server.stop()
            try await server.start()
            try await eventually("it listens again") {
                (try? await connection.request("listeners")[0]?["listeners"]?.int) == 1
            }
            _ = try await connection.request("say", ["text": "again"])
            #expect(try await said.first(2)[1].payload[0]?["said"]?.string == "again")

            subscription.cancel()
            try await eventually("it listens no more") {
                try await connection.request("listeners")[0]?["listeners"]?.int == 0
            }
            connection.release()
        }
    }

    @Test
    func `a refused greeting is an error of its own, and one with the right token connects`() async throws {
        let server = PythonServer("graphql_server.py", ["--token", "good"])
        try await server.use {
            let bad = try Self.connect(server, token: "bad")
            try await eventually("it is refused") { bad.status.lastError?.code == .refused }
            let good = try Self.connect(server, token: "good")
            #expect(try await good.request("double", ["number": 2])[0]?["double"]?.int == 4)
            bad.release()
            good.release()
        }
    }

    @Test
    func `an operation that the server refuses fails alone`() async throws {
        let server = PythonServer("graphql_server.py")
        try await server.use {
            let connection = try Self.connect(server)
            let error = await #expect(throws: LinkspanError.self) { try await connection.request("wrong") }
            #expect(error?.code == .messageRefused)
            let unknown = await #expect(throws: LinkspanError.self) { try await connection.request("unknown") }
            #expect(unknown?.code == .encodingFailed)
            #expect(try await connection.request("double", ["number": 2])[0]?["double"]?.int == 4)
            connection.release()
        }
    }

    @Test
    func `a request that ends without a result fails, and one that has ended ends once`() throws {
        var session = Self.language
        var sent: [UInt8] = []
        for id in 1...2 as ClosedRange<UInt64> {
            _ = try session.encode(.event(name: "listeners", payload: .empty, id: id), to: &sent)
        }
        func receive(_ text: String) throws -> DecodedEnvelope { try session.decode(text: Array(text.utf8)[...]) }
        let failures = try receive(#"{"type":"complete","id":"r1"}"#).failures
        #expect(failures.map(\.id) == [1])
        #expect(failures.map(\.error.code) == [.messageRefused])
        #expect(try receive(#"{"type":"next","id":"r2","payload":{"data":{}}}"#).envelopes.count == 1)
        #expect(try receive(#"{"type":"complete","id":"r2"}"#).failures.isEmpty)
    }

    @Test
    func `of a result with errors a subscription brings the data and the errors, and a request fails`() throws {
        var (session, sent) = (Self.language, [UInt8]())
        _ = try session.subscribe(to: "said")
        _ = try session.encode(.event(name: "listeners", payload: .empty, id: 1), to: &sent)
        func receive(_ id: String, _ data: String) throws -> DecodedEnvelope {
            let text = #"{"type":"next","id":"\#(id)","payload":{"data":\#(data),"errors":[{"message":"half"}]}}"#
            return try session.decode(text: Array(text.utf8)[...])
        }
        let part = try receive("s1", #"{"said":"a"}"#)
        #expect(part.envelopes.count == 1 && part.failures.map(\.error.message) == ["GraphQL: half"])
        for (id, request) in [("s1", nil), ("r1", 1 as UInt64?)] {
            let nothing = try receive(id, request == nil ? "null" : #"{"listeners":1}"#)
            #expect(nothing.envelopes.isEmpty && nothing.failures.map(\.id) == [request])
        }
    }
}
