internal import TestSupport
internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanSocketIO
internal import LinkspanWebSocket
internal import Testing

extension Interop {
    /// Links that end before they begin, as happens when the app disconnects at the same moment.
    @Suite(.overBackEnds) struct UnbegunLinkTests {
        private final class Receiver: LinkReceiver {
            let events = Journal<LinkEvent>("link events")

            func receive(_ next: () -> LinkEvent?) {
                while let event = next() { self.events.append(event) }
            }
        }

        /// The ways to end a link.
        enum Ending: CaseIterable, Sendable {
            case abort
            case close
        }

        private static func isClosed(_ event: LinkEvent) -> Bool {
            if case .closed = event { true } else { false }
        }

        /// Ends a link, opens it, and waits until it says that it has ended.
        private static func endThenOpen(_ transport: some Transport, _ url: String, _ ending: Ending) async throws {
            let receiver = Receiver()
            let request = LinkRequest(url: try ConnectionURL(url))
            transport.executor.execute {
                let link = transport.makeLink(request, receiver: receiver)
                switch ending {
                case .abort: link.abort()
                case .close: link.close()
                }
                link.open()
            }
            try await receiver.events.first(where: Self.isClosed)
            #expect(receiver.events.entries.count == 1)
        }

        @Test(arguments: Ending.allCases)
        func `over Socket.IO, a link that has ended cannot be opened`(_ ending: Ending) async throws {
            try await withServer(.aiohttp) { server in
                try await Bench.use { bench in
                    try await Self.endThenOpen(
                        SocketIOTransport(loop: bench.loop), "http://127.0.0.1:\(server.port)/chat", ending)
                    // Had it connected, it would have been the first.
                    let client = try await bench.socketIO(server)
                    let sessions = try await client.handler.request("engines", timeout: .seconds(30))
                    #expect(sessions[0]?["ever"]?.int == 1)
                }
            }
        }

        @Test(arguments: Ending.allCases)
        func `over raw WebSocket, a link that has ended cannot be opened`(_ ending: Ending) async throws {
            try await withServer(.webSocket) { server in
                try await Bench.use { bench in
                    try await Self.endThenOpen(
                        WebSocketTransport(loop: bench.loop), "ws://127.0.0.1:\(server.port)/envelope", ending)
                    let client = try await bench.webSocket(server)
                    let requests = try await client.handler.request("requests", timeout: .seconds(30))
                    #expect(try requests.decode(Int.self) == 1)
                }
            }
        }
    }
}
