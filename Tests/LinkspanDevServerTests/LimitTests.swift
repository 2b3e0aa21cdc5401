internal import EventJournal
internal import Foundation
internal import Linkspan
internal import LinkspanDevServer
internal import LinkspanSocketIO
internal import TestedBackEnds
internal import Testing

/// Messages that the server does not take.
@Suite(.timeLimit(.minutes(2)), .overSomeBackEnd)
struct LimitTests {
    private static let server = DevServer.Configuration { $0.maximumMessageBytes = 100_000 }

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
}
