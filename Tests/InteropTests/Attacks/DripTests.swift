internal import TestSupport
internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanWebSocketProtocol
internal import Testing

extension Interop {
    /// Messages that come drop by drop.
    @Suite(.overBackEnds) struct DripTests {
        private final class Recorder: WebSocketChannelHandler, Sendable {
            let ends = Journal<WebSocketEnd>("the end of the channel")
            let openings = Journal<Void>("the opening of the channel")

            func opened(subprotocol: String?) { self.openings.append(()) }
            func received(_ next: () -> WebSocketMessage?) { while next() != nil {} }
            func writable() {}
            func closed(_ end: WebSocketEnd) { self.ends.append(end) }
        }

        /// Opens a channel to a server that drips, whose messages have so long to make progress.
        private static func channel(
            _ bench: Bench, _ server: PythonServer, _ deadline: Duration, _ recorder: Recorder
        ) async -> Confined<WebSocketChannel> {
            let upgrade = StreamRequest(host: "127.0.0.1", port: server.port, isSecure: false)
            let loop = bench.loop
            return await loop.perform {
                let terms = WebSocketTerms { $0.messageDeadline = deadline }
                return Confined(WebSocketChannel(upgrade, terms: terms, on: loop, handler: recorder), to: loop)
            }
        }

        @Test
        func `a message that makes no progress ends the connection, and at once for its owner`() async throws {
            let server = PythonServer("hostile_server.py", ["--attack", "dripped-message"])
            try await server.start()
            try await Bench.use { bench in
                let recorder = Recorder()
                let channel = await Self.channel(bench, server, .milliseconds(300), recorder)
                try await server.says("limit")
                guard case .closed(let event) = try await recorder.ends.first(1)[0] else {
                    Issue.record("it ended otherwise")
                    return
                }
                #expect(event.violation?.code == .messageOverdue)
                #expect(event.code == .policyViolation)
                #expect(await bench.loop.perform { channel.value.send(.text, expectedLength: 0) { _ in } } == .refused)
            }
            await server.stop()
        }

        @Test
        func `a message that makes progress may take longer than that`() async throws {
            let server = PythonServer("hostile_server.py", ["--attack", "flowing-message"])
            try await server.start()
            try await Bench.use { bench in
                let recorder = Recorder()
                let channel = await Self.channel(bench, server, .seconds(2), recorder)
                // The server says so once it has sent for three seconds.
                try await server.says("limit")
                #expect(recorder.ends.entries.isEmpty)
                await bench.loop.perform { channel.value.abort() }
                _ = try await recorder.ends.first(1)
            }
            await server.stop()
        }
    }
}
