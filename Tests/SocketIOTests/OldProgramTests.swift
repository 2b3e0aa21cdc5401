internal import Foundation
internal import OldSocketIOPrograms
internal import SocketIO
internal import TestSupport
internal import TestedBackEnds
internal import Testing

/// Programs that were written against the documents of socket.io-client-swift, unchanged.
@Suite(.overEachBackEnd, .timeLimit(.minutes(3)))
struct OldProgramTests {
    @Test(arguments: Carrier.allCases)
    func `the program of the README runs`(carrier: Carrier) async throws {
        try await PythonServer.useOldPrograms { server in
            let lines = Journal<String>("lines of the README's program")
            let program = ReadmeProgram(url: server.url, config: carrier.options) { lines.append($0) }
            try await lines.entries {
                $0.contains("updated to 7.5") && $0.contains("server heard Got your currentAmount, dude")
            }
            #expect(lines.entries.first == "socket connected")
            try await server.restart()
            try await lines.first(2) { $0 == "updated to 7.5" }
            withExtendedLifetime(program) {}
        }
    }
}

extension OldProgramTests {
    @Test(arguments: Carrier.allCases)
    func `two screens of the chat see each other`(carrier: Carrier) async throws {
        try await PythonServer.useOldPrograms { server in
            let (ann, bob) = (Screen("Ann"), Screen("Bob"))
            let first = ChatViewController(url: server.url, name: "Ann", config: carrier.options)
            first.screen = ann
            first.viewDidLoad()
            try await ann.lines.first(1) { $0 == "1 in the room" }
            let second = ChatViewController(url: server.url, name: "Bob", config: carrier.options)
            second.screen = bob
            second.viewDidLoad()
            try await ann.lines.first(1) { $0 == "Bob joined" }
            second.userTypes()
            for number in 1...20 { second.send("line \(number)") }
            try await ann.lines.first(1) { $0 == "Bob: line 20" }
            let expected = ["Bob is typing"] + (1...20).map { "Bob: line \($0)" }
            #expect(ann.lines.entries.suffix(21) == expected)
            second.viewWillDisappear()
            try await ann.lines.first(1) { $0 == "Bob left" }
            #expect(try await bob.lines.first(2) == ["2 in the room", "left: Namespace leave"])
            // Both are back after a restart, and nobody has to press a button.
            second.viewDidLoad()
            try await bob.lines.first(2) { $0 == "2 in the room" }
            try await server.restart()
            try await ann.lines.first(2) { $0.hasSuffix("in the room") }
            try await bob.lines.first(3) { $0.hasSuffix("in the room") }
        }
    }

    @Test(arguments: Carrier.allCases)
    func `a publisher's subscriber gets each value`(carrier: Carrier) async throws {
        try await PythonServer.useOldPrograms { server in
            let prices = Journal<Double>("prices")
            let feed = PriceFeed(url: server.url, config: carrier.options) { prices.append($0) }
            // Before it is connected, and while the server is known to be away: what is sent before that is lost.
            feed.ask(for: 1)
            try await prices.first(1)
            let losses = Journal<String>("lost links")
            feed.manager.defaultSocket.on(clientEvent: .reconnect) { _, _ in losses.append("lost") }
            await server.stop()
            try await losses.first(1)
            feed.ask(for: 2.5)
            feed.ask(for: 3)
            try await server.start()
            #expect(try await prices.first(3) == [1, 2.5, 3])
        }
    }

    @Test(arguments: Carrier.allCases)
    func `a refused token is replaced by connectParams`(carrier: Carrier) async throws {
        try await PythonServer.useOldPrograms { server in
            let lines = Journal<String>("lines of the session")
            let session = TokenSession(url: server.url, config: carrier.options) { lines.append($0) }
            try await lines.first(1) { $0 == "welcome to /private" }
            #expect(lines.entries == ["refused: unauthorized", "welcome to /private"])
            try await server.restart()
            try await lines.first(2) { $0 == "welcome to /private" }
            withExtendedLifetime(session) {}
        }
    }

    @Test(arguments: Carrier.allCases)
    func `namespaces show a payload of their own each`(carrier: Carrier) async throws {
        try await PythonServer.useOldPrograms { server in
            let lines = Journal<String>("lines of the namespaces")
            let program = NamespaceProgram(url: server.url, config: carrier.options) { lines.append($0) }
            let expected: Set = [
                "connected to /admin", "connected to /news", "/admin knows root", "/news knows reader",
            ]
            try await lines.entries { Set($0) == expected }
            try await server.restart()
            try await lines.entries { $0.count >= 8 && Set($0) == expected }
            withExtendedLifetime(program) {}
        }
    }

    @Test(arguments: Carrier.allCases)
    func `a file arrives in acknowledged pieces through a restart`(carrier: Carrier) async throws {
        try await PythonServer.useOldPrograms { server in
            let file = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
            let outcome = Journal<Data?>("the outcome of the upload")
            let uploader = Uploader(url: server.url, config: carrier.options, file: file, piece: 10_000) {
                outcome.append($0)
            }
            try await eventually { uploader.manager.status == .connected || !outcome.entries.isEmpty }
            try await server.restart()
            #expect(try await outcome.first(1) == [file])
        }
    }

    /// What a screen of the chat shows.
    private final class Screen: ChatScreen {
        let lines: Journal<String>

        init(_ name: String) { self.lines = Journal("lines of \(name)") }

        func show(_ line: String) { self.lines.append(line) }
    }
}
