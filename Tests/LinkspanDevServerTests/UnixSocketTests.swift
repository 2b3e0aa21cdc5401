internal import Foundation
internal import Linkspan
internal import LinkspanDevServer
internal import LinkspanInMemory
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanSocketIO
internal import LinkspanWebSocket
internal import TestedBackEnds
internal import Testing

/// Transports and server over a file instead of a port.
@Suite(.timeLimit(.minutes(2)), .overEachBackEnd)
struct UnixSocketTests {
    /// Runs `body` with a path in a folder of its own, which is removed afterwards.
    private func withPath(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "uds-\(UInt32.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder.appendingPathComponent("s").path)
    }

    private func configuration(_ path: String) -> DevServerConfiguration { .init { $0.socketPath = path } }

    @Test(arguments: Way.allCases)
    func `every wire is carried, and a restarted server is found again`(_ way: Way) async throws {
        try await self.withPath { path in
            try await Bench.run(configuration: self.configuration(path)) { bench in
                let client = try await bench.client(way)
                #expect(try await client.handler.request("req", "é😀", 7).decode(Int.self, at: 1) == 7)
                let blob = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
                #expect(try await client.handler.request("req", blob).decode(Data.self) == blob)
                #expect(FileManager.default.fileExists(atPath: path))
                try await bench.server.restart()
                try await client.connected(times: 2)
                #expect(try await client.handler.request("req", 1).decode(Int.self) == 1)
            }
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    /// The error of a connection over the socket at `path`, which fails for good.
    private func failure(_ way: Way, path: String) async throws -> LinkspanError? {
        let loop = makeLoop(name: "none")
        defer { loop.shutdown() }
        let transport = way.transport(on: loop, socketPath: path)
        let manager = ConnectionManager()
        let error = await #expect(throws: LinkspanError.self) {
            _ = try await ConnectionBuilder("ws://localhost/").transport(transport).options { $0.retry = .never }
                .connect(by: manager).connected(within: .seconds(30))
        }
        await manager.shutdown()
        return error
    }

    @Test(arguments: Way.allCases)
    func `a socket that does not exist is unreachable, with the system's reason`(_ way: Way) async throws {
        try await self.withPath { path in
            let error = try #require(await self.failure(way, path: path))
            #expect(error.code == .connectionLost)
            #expect(error.description.contains("no such file or directory"), "\(error)")
        }
    }

    @Test(arguments: Way.allCases)
    func `a path that no socket can have is an error of the configuration`(_ way: Way) async throws {
        let error = try #require(await self.failure(way, path: String(repeating: "p", count: 104)))
        #expect(error.code == .invalidConfiguration)
        #expect(error.description.contains("longer than 103 bytes"), "\(error)")
    }

    @Test func `a server does not start where a file is`() async throws {
        try await self.withPath { path in
            #expect(FileManager.default.createFile(atPath: path, contents: nil))
            let server = DevServer(hub: InMemoryHub(), configuration: self.configuration(path))
            let error = await #expect(throws: LinkspanError.self) { try await server.start() }
            #expect(error?.code == .invalidConfiguration)
            #expect(error?.message.contains("\(path) is not available") == true)
            #expect(FileManager.default.fileExists(atPath: path))
        }
    }

    @Test func `one URL over two sockets is two connections, and over one socket one`() async throws {
        let (one, two) = ("/run/one", "/run/two")
        let manager = ConnectionManager()
        for (path, count) in [(one, 1), (one, 1), (two, 2)] {
            let transport = SocketIOTransport(.init { $0.socketPath = path })
            _ = try manager.hold(ConnectionBuilder("http://localhost/").transport(transport).build())
            #expect(manager.statistics.count == count)
        }
        #expect(SocketIOTransport().endpoint == "/socket.io/")
        await manager.shutdown()
    }

    @Test(arguments: [TransportFactory.socketIO, .webSocket].map(\.name))
    func `configuration names the path, and refuses one that cannot be`(_ name: String) throws {
        let factory = try #require([TransportFactory.socketIO, .webSocket].first { $0.name == name })
        #expect(try factory.make(OptionValues(["socket": "/run/app.sock"])).options["socket"] == "/run/app.sock")
        #expect(try factory.make(OptionValues()).options["socket"] == "none")
        let wrong: [[String: any Sendable]] = [
            ["socket": ""], ["socket": String(repeating: "p", count: 104)], ["socket": "/s", "proxy": "p:1"],
        ]
        for values in wrong {
            let error = #expect(throws: LinkspanError.self) { try factory.make(OptionValues(values)) }
            #expect(error?.code == .invalidConfiguration)
        }
    }
}
