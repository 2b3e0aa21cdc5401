internal import TestSupport
internal import Foundation
internal import Linkspan
internal import LinkspanDevServer
internal import LinkspanInMemory
internal import LinkspanSocketIO
internal import LinkspanWebSocket
internal import TestedBackEnds
internal import Testing

/// Messages that the server does not take, and those that the client does not.
@Suite(.timeLimit(.minutes(2)), .overSomeBackEnd)
struct LimitTests {
    private static let server = DevServerConfiguration { $0.maximumMessageBytes = 100_000 }

    @Test(arguments: Way.allCases)
    func `a delivery larger than the server takes fails, and those behind it arrive`(_ way: Way) async throws {
        try await Bench.run(configuration: Self.server) { bench in
            let client = try await bench.client(way)
            try await client.connected()
            let error = await #expect(throws: LinkspanError.self) {
                try await client.handler.deliver("req", String(repeating: "x", count: 120_000))
            }
            guard case .socketIO = way else {
                // A server of envelopes tells no limit: it closes over the message, twice.
                #expect(error?.code == .messageRefused)
                #expect(error?.certainty == .unknown)
                try await client.connected(times: 3)
                #expect(try await client.handler.deliver("req", 7).decode(Int.self) == 7)
                return
            }
            #expect(error?.code == .messageTooLarge)
            #expect(error?.certainty == .notSent)
            #expect(error?.message.contains("100000") == true, "it says the limit: \(String(describing: error))")
            #expect(try await client.handler.deliver("req", 7).decode(Int.self) == 7)
            #expect(client.states.entries.map(\.to) == [.connected])
        }
    }

    /// Over polling 76,000 bytes take 101,336 in base64, so that the limit depends on what carries them.
    @Test(arguments: [Way.socketIO(.polling), .socketIO(.webSocket)])
    func `a blob counts by its size on the wire`(_ way: Way) async throws {
        try await Bench.run(configuration: Self.server) { bench in
            let client = try await bench.client(way)
            try await client.connected()
            let blob = Data(repeating: 7, count: 76_000)
            if case .socketIO(.webSocket) = way {
                #expect(try await client.handler.deliver("req", blob).decode(Data.self) == blob)
            } else {
                let error = await #expect(throws: LinkspanError.self) {
                    try await client.handler.deliver("req", blob)
                }
                #expect(error?.code == .messageTooLarge)
            }
            #expect(client.states.entries.map(\.to) == [.connected])
        }
    }

    /// The text of each event is twice as long as its arguments, so that what the core counts says nothing.
    @Test(arguments: Way.allCases)
    func `the limit of the server holds for the text that a codec of the app's writes`(_ way: Way) async throws {
        try await Bench.run(configuration: Self.server) { bench in
            let client = try await bench.client(way, over: self.padding(way, bench))
            try await client.connected()
            #expect(try await client.handler.deliver("req", "short").decode(String.self) == "short")
            let error = await #expect(throws: LinkspanError.self) {
                try await client.handler.deliver("req", String(repeating: "x", count: 60_000))
            }
            #expect(try await client.handler.deliver("req", 7).decode(Int.self) == 7)
            guard case .socketIO = way else {
                #expect(error?.code == .messageRefused)
                #expect(client.states.entries.filter { $0.to == .connected }.count == 3)
                return
            }
            #expect(error?.code == .messageTooLarge)
            #expect(error?.certainty == .notSent)
            #expect(client.states.entries.map(\.to) == [.connected])
        }
    }

    private func padding(_ way: Way, _ bench: Bench) -> any Transport {
        guard case .socketIO(let carriers) = way else {
            return WebSocketTransport(.init { $0.codec = PaddingEnvelopeCodec() }, loop: bench.loop)
        }
        return SocketIOTransport(
            .init {
                $0.carriers = carriers
                $0.codec = PaddingCodec()
            }, loop: bench.loop)
    }

    /// Messages that come whole, and messages of attachments that are small enough each.
    @Test(arguments: Way.allCases, [false, true])
    func `a message larger than this client takes ends its link by a limit that is called ours`(
        _ way: Way, _ hasAttachments: Bool
    ) async throws {
        let hub = InMemoryHub()
        hub.onConnect { peer in
            peer.on("ask") { _ in
                let blob = Data(repeating: 7, count: 60_000)
                if hasAttachments {
                    try? peer.emit("big", blob, blob)
                } else {
                    try? peer.emit("big", blob.base64EncodedString())
                }
            }
        }
        try await Bench.run(hub: hub) { bench in
            let client = try await bench.client(way, over: way.transport(on: bench.loop, maximumMessageBytes: 70_000))
            try await client.connected()
            try client.handler.send("ask")
            let error = try #require(try await client.lost().error)
            #expect(error.code == .protocolViolation)
            // Of an answer to a poll more is accepted than of a message.
            #expect(error.message.wholeMatch(of: /.* larger than the [0-9]+ bytes that are accepted here/) != nil)
            try await client.connected(times: 2)
        }
    }
}
