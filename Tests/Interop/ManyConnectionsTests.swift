internal import EventJournal
internal import Foundation
internal import Linkspan
internal import LinkspanSocketIO
internal import Testing

extension Interop {
    /// Many connections at a time.
    @Suite struct ManyConnectionsTests {
        private static var openFiles: Int {
            #if os(Linux)
            let folder = "/proc/self/fd"
            #else
            let folder = "/dev/fd"
            #endif
            return (try? FileManager.default.contentsOfDirectory(atPath: folder).count) ?? 0
        }

        @Test(
            "200 connections connect, get an echo, close, and leave no file open",
            arguments: [ServerKind.aiohttp, .webSocket])
        func opensAndCloses(_ kind: ServerKind) async throws {
            let count = 200
            try await withServer(kind) { server in
                let before = Self.openFiles
                try await Bench.use { bench in
                    let apart = SocketIOTransport.Configuration { $0.isMultiplexed = false }
                    var clients: [Client] = []
                    for number in 0..<count {
                        // Another query is another connection of the pool.
                        clients.append(
                            kind == .webSocket
                                ? try await bench.webSocket(server, "/envelope?n=\(number)")
                                : try await bench.socketIO(server, "/?n=\(number)", configuration: apart))
                    }
                    for (number, client) in clients.enumerated() { try client.handler.send("echo", number) }
                    for (number, client) in clients.enumerated() {
                        #expect(try await client.values("echo", as: Int.self) == [number])
                        #expect(client.states.entries.map(\.to) == [.connected])
                    }
                    #expect(bench.manager.statistics.count == count)
                    // Other tests of the process open files, too, but not so many.
                    #expect(Self.openFiles >= before + count - 20)
                    for client in clients {
                        try client.handler.disconnect()
                        client.handler.release()
                    }
                }
                #expect(Self.openFiles < before + 20)
            }
        }
    }
}
