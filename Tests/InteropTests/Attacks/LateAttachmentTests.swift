internal import TestSupport
internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import Testing

@testable internal import LinkspanWebSocket

extension Interop {
    /// Attachments over raw WebSocket that are announced and do not come.
    @Suite(.overBackEnds) struct LateAttachmentTests {
        private final class Receiver: LinkReceiver {
            let events = Journal<LinkEvent>("link events")

            func receive(_ next: () -> LinkEvent?) {
                while let event = next() { self.events.append(event) }
            }
        }

        private static func open(_ bench: Bench, _ server: PythonServer, _ timeout: Duration) throws
            -> (link: Confined<WebSocketLink>, receiver: Receiver)
        {
            let receiver = Receiver()
            let made = WebSocketLink(
                request: LinkRequest(url: try ConnectionURL("ws://127.0.0.1:\(server.port)/")),
                configuration: Boxed(WebSocketConfiguration()), loop: bench.loop,
                receiver: receiver, attachmentsTimeout: timeout)
            let link = Confined(made, to: bench.loop)
            bench.loop.execute { link.value.open() }
            return (link, receiver)
        }

        private static func error(_ event: LinkEvent) -> LinkspanError? {
            if case .closed(let error) = event { error } else { nil }
        }

        @Test
        func `a missing attachment ends the link, with a reason for the server`() async throws {
            let server = PythonServer("hostile_server.py", ["--attack", "missing-attachment"])
            try await server.use {
                try await Bench.use { bench in
                    let (_, receiver) = try Self.open(bench, server, .milliseconds(200))
                    try await server.says("limit")
                    let end = try await receiver.events.first { Self.error($0) != nil }
                    #expect(Self.error(end)?.code == .protocolViolation)
                    try await server.says("closed 1008")
                }
            }
        }

        @Test
        func `each message has the time for itself`() async throws {
            let server = PythonServer("hostile_server.py", ["--attack", "late-attachments"])
            try await server.use {
                try await Bench.use { bench in
                    let (link, receiver) = try Self.open(bench, server, .seconds(2))
                    // After three seconds.
                    try await server.says("limit")
                    #expect(!receiver.events.entries.contains { Self.error($0) != nil })
                    bench.loop.execute { link.value.abort() }
                    try await receiver.events.first { Self.error($0) != nil }
                }
            }
        }
    }
}
