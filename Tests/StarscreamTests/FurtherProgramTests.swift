internal import Foundation
internal import LinkspanNetwork
internal import LinkspanWebSocket
@testable internal import OldStarscreamPrograms
internal import Starscream
internal import TestSupport
internal import TestedBackEnds
internal import Testing

/// What programs of answers to questions rely on without a word about it in the documents.
@Suite(.overSomeBackEnd, .timeLimit(.minutes(3)), .serialized)
struct FurtherProgramTests {
    private func withServer(_ body: (PythonServer) async throws -> Void) async throws {
        let network = NetworkBackEnd.current
        WebSocket.configure = { $0.network = network }
        defer { WebSocket.configure = { _ in } }
        let server = PythonServer("websocket_server.py")
        try await server.use { try await body(server) }
    }

    private func service(
        _ server: PythonServer, _ states: Journal<String>, _ path: String = "/envelope", scheme: String = "ws",
        attempts: Int = 0
    ) throws -> SocketService {
        let url = try #require(URL(string: "\(scheme)://127.0.0.1:\(server.port)\(path)"))
        let service = SocketService(request: URLRequest(url: url), attempts: attempts)
        service.onState = { states.append($0) }
        service.connect()
        return service
    }

    @Test
    func `a program that connects within its callback is connected again`() async throws {
        try await self.withServer { server in
            let states = Journal<String>("states")
            let service = try self.service(server, states, attempts: .max)
            try await states.first(1)
            try await server.restart()
            try await states.first(2) { $0 == "connected" }
            #expect(states.entries.prefix(2) == ["connected", "peerClosed"])
            #expect(states.entries.dropFirst(2).dropLast().allSatisfy { $0 == "error WSError" })
            withExtendedLifetime(service) {}
        }
    }

    @Test
    func `what was written leaves before the close`() async throws {
        try await self.withServer { server in
            let states = Journal<String>("states")
            let (count, pad) = (40, String(repeating: "x", count: 100_000))
            for round in 1...3 {
                let service = try self.service(server, states)
                try await states.first(round) { $0 == "connected" }
                for number in 1..<count {
                    service.send(Envelope(event: "note", data: ["\(round) \(number) \(pad)"]))
                }
                service.leave(#"{"event":"note","data":["\#(round) \#(count) "]}"#)
                try await states.first(round) { $0 == "cancelled" }
            }
            let watching = try self.service(server, states)
            watching.send(Envelope(event: "closings", data: [3], id: 1))
            try await states.first { $0.contains("1001") }
            watching.send(Envelope(event: "notes", data: [Int](), id: 2))
            let notes = try await states.first { $0.contains("\"ack\":2") }
            let heads = notes.split(separator: "\"").compactMap { note -> String? in
                let words = note.split(separator: " ")
                return words.count >= 2 && Int(words[0]) != nil ? "\(words[0]) \(words[1])" : nil
            }
            #expect(heads == (1...3).flatMap { round in (1...count).map { "\(round) \($0)" } })
        }
    }

    private struct Envelope<Item: Encodable>: Encodable {
        var event: String
        var data: [Item]
        var id: Int?
    }

    @Test
    func `disconnect and connect in one go make a new link`() async throws {
        try await self.withServer { server in
            let states = Journal<String>("states")
            let service = try self.service(server, states, "/echo")
            try await states.first(1)
            service.restart()
            try await states.first(2) { $0 == "connected" }
            service.ping()
            try await states.first { $0 == "pong 0" }
            #expect(states.entries == ["connected", "cancelled", "connected", "pinged", "pong 0"])
        }
    }

    private func firstEvent(_ server: PythonServer, _ field: String, _ value: String) async throws -> WebSocketEvent {
        var request = URLRequest(url: try #require(URL(string: "ws://127.0.0.1:\(server.port)/echo")))
        request.setValue(value, forHTTPHeaderField: field)
        let (socket, events) = (WebSocket(request: request), Journal<WebSocketEvent>("events"))
        socket.callbackQueue = DispatchQueue(label: "events")
        socket.onEvent = { events.append($0) }
        socket.connect()
        return try await events.first(1)[0]
    }

    @Test(arguments: ["other, unknown", "unknown other", "unknown,other", " other\t"])
    func `sub-protocols may be separated by spaces, as in the README`(list: String) async throws {
        try await self.withServer { server in
            let event = try await self.firstEvent(server, "Sec-WebSocket-Protocol", list)
            guard case .connected(let fields) = event else { throw Failure(description: "\(event)") }
            #expect(fields["Sec-WebSocket-Protocol"] == "other")
        }
    }

    @Test
    func `a header value outside ASCII is an error that names the header`() async throws {
        try await self.withServer { server in
            let event = try await self.firstEvent(server, "X-Name", "Jürgen")
            guard case .error(let error as WSError) = event else { throw Failure(description: "\(event)") }
            #expect(error.message.contains("the header X-Name has a character that is not allowed"))
        }
    }

    private struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    @Test(arguments: ["ws", "http", "WS"])
    func `a URL may have a query, a fragment and a scheme of HTTP`(scheme: String) async throws {
        try await self.withServer { server in
            for path in ["/echo?token=a%20b&x=1", "/echo#part", "/echo?next=http://x/y?z"] {
                let states = Journal<String>("states")
                let service = try self.service(server, states, path, scheme: scheme)
                #expect(try await states.first(1) == ["connected"])
                withExtendedLifetime(service) {}
            }
        }
    }
}
