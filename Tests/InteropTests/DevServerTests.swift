internal import TestSupport
internal import Foundation
internal import Linkspan
internal import LinkspanDevServer
internal import LinkspanInMemory
internal import Testing

extension Interop {
    /// Clients that are not ours, at the server that is: it speaks the protocols, and not what we take for them.
    @Suite(.overBackEnds, .timeLimit(.minutes(2))) struct DevServerTests {
        @Test(arguments: Self.ways)
        func `python-socketio's client and websockets' find what they expect`(_ way: String, _ results: Int)
            async throws
        {
            let configuration = DevServerConfiguration {
                $0.pingInterval = .seconds(1)
                $0.pingTimeout = .seconds(1)
                $0.network = Wire.current.network
            }
            let hub = Self.hub()
            let server = DevServer(hub: hub, namespaces: ["/second": hub], configuration: configuration)
            try await server.start()
            let url = "http://127.0.0.1:\(server.port)"
            let outcome = await Result {
                try await ProgramRun(python: "reference_client.py", ["--url", url, "--way", way])
            }
            await server.stop()
            let run = try outcome.get()
            #expect(run.status == 0, "\(run.errors)")
            #expect(run.output.split(separator: "\n").count == results, "\(run.output)")
        }

        /// What may carry the client, and how many things it finds.
        private static let ways = [("websocket", 13), ("polling", 13), ("upgrade", 13), ("envelope", 3)]

        /// The contract of `TransportFixture`, as far as the client looks at it.
        private static func hub() -> InMemoryHub {
            let hub = InMemoryHub()
            hub.onConnect { peer throws(LinkspanError) in
                if peer.request.credentials.auth?[0]?["refuse"]?.bool == true {
                    let details = try Payload(["code": "bad_name"])
                    throw LinkspanError(.credentialsRefused, "refused as asked", details: details)
                }
                peer.on("req") { $0.reply($0.payload) }
                peer.on("ask") { message in peer.ask("question", message.payload) { peer.emit("answered", $0) } }
                peer.on("whoami") { message in
                    let auth = peer.request.credentials.auth ?? .empty
                    peer.emit("whoami", auth)
                    message.reply(auth)
                }
                peer.on("flood") { message in
                    for number in 0..<(message.payload[0]?["n"]?.int ?? 0) {
                        if let item = try? Payload(["id": number]) { peer.emit("item", item) }
                    }
                }
                peer.on("kick") { $0.peer.disconnect() }
            }
            return hub
        }
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
