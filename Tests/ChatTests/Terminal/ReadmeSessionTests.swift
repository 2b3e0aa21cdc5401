internal import Foundation
internal import TestedPrograms
internal import Testing

extension Chat {
    /// The chat session of the README, typed as it is printed; only the port is another one, which is free.
    @Suite
    struct ReadmeSessionTests {
        /// What stands in `Samples/Chat/README.md`.
        private struct Readme {
            let server: String
            let ann: String
            let bob: String
            let commands: [String]
            let configured: String

            init() throws {
                // Those who sit at a seat of the tests call the program by the other name.
                let text = try String(contentsOfFile: "\(Place.root)/Samples/Chat/README.md", encoding: .utf8)
                    .replacing(".build/debug/chat", with: "swift run chat")
                let lines = text.split(separator: "\n").map(String.init)
                self.server = try #require(lines.first { $0.hasPrefix("swift run chat serve") })
                self.ann = try #require(lines.first { $0.hasPrefix("swift run chat join --name ann --transport") })
                self.bob = try #require(lines.first { $0.hasPrefix("swift run chat join --name bob") })
                self.configured = try #require(
                    lines.first { $0.hasPrefix("swift run chat join --name ann --config") })
                let rows = lines.filter { $0.hasPrefix("| `/") }
                self.commands = rows.flatMap { row in
                    row.split(separator: "|")[0].matches(of: /`([^`]+)`/).map { String($0.output.1) }
                }
            }
        }

        /// What is to be seen after each command, and where, counted from the bottom.
        private static let results: [String: (text: String, row: Int?)] = [
            "/help": ("/join ROOM", nil), "/join attic": ("── attic ·", -2), "/leave": ("── lobby ·", -2),
            "/who": ("  here: ann, bob", nil), "/msg bob psst": ("ann → bob: psst", nil),
            "/topic cats": ("* ann set the topic: cats", nil), "/topic -": ("* ann removed the topic", nil),
            "/topic": ("lobby has no topic", nil), "/search hello": ("'hello': 1 of", -3),
            "/nick anna": ("here: anna, bob", -3), "/transport websocket": ("connected over websocket", -2),
            "/offline": ("── lobby · offline", -2), "/online": ("connected over", -2),
            "/explain": ("The connection to", nil), "/outbox": ("no outbox: start with --outbox FILE", nil),
            "/mouse off": (">", -1), "/quit": ("$", nil),
        ]

        /// A port at which nothing listens.
        private static func freePort() throws -> String {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            defer { close(descriptor) }
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isBound = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
                }
            }
            try #require(isBound)
            return "\(UInt16(bigEndian: address.sin_port))"
        }

        @Test(.timeLimit(.minutes(3)))
        func `the session of the README works as printed`() async throws {
            let readme = try Readme()
            let port = try Self.freePort()
            let typed: @Sendable (String) -> String = { line in line.replacing("3000", with: port) + "\r" }
            try #require(readme.server.contains("3000") && readme.ann.contains(":3000") && readme.bob.contains(":3000"))
            try await Bench.run { bench in
                try await Seat.shell(on: bench) { server in
                    try await server.type(typed(readme.server))
                    try await server.wait(for: "serving socketio and websocket on 127.0.0.1:\(port)")
                    try await Seat.shell(on: bench, columns: 100, rows: 40) { bob in
                        try await bob.type(typed(readme.bob))
                        try await bob.wait(for: "here: bob")
                        try await Seat.shell(on: bench, columns: 100, rows: 40) { ann in
                            try await ann.type(typed(readme.ann))
                            try await ann.wait(for: "here: ann, bob")
                            try await ann.type("hello\r")
                            try await bob.wait(for: "ann: hello")
                            for command in readme.commands {
                                let result = try #require(Self.results[command], "no result for \(command)")
                                try await ann.type("\(command)\r")
                                try await ann.wait(for: result.text, row: result.row)
                                #expect(await !ann.screen.text.contains("unknown command"))
                                // The conversation goes on, whatever was typed.
                                if command == "/transport websocket" {
                                    try await ann.type("still here\r")
                                    try await bob.wait(for: "anna: still here")
                                }
                            }
                        }
                    }
                }
            }
        }

        @Test(.timeLimit(.minutes(3)))
        func `the session with the file of the README moves to another transport and back`() async throws {
            let readme = try Readme()
            let port = try Self.freePort()
            try await Bench.run { bench in
                let file = try String(contentsOfFile: "\(Place.root)/Samples/Chat/chat.yaml", encoding: .utf8)
                let folder = "\(bench.folder)/Samples/Chat"
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
                _ = try bench.file("Samples/Chat/chat.yaml", file.replacing(":3000", with: ":\(port)"))
                try await Seat.shell(on: bench) { server in
                    try await server.type(readme.server.replacing("3000", with: port) + "\r")
                    try await server.wait(for: "serving socketio and websocket")
                    try await Seat.shell(on: bench) { ann in
                        try await ann.type(readme.configured + "\r")
                        try await ann.wait(for: "connected over socketio", row: -2)
                        for wire in ["websocket", "socketio"] {
                            try await ann.type("/transport \(wire)\r")
                            try await ann.wait(for: "connected over \(wire)", row: -2)
                        }
                        // Nothing of a log is among the lines of people.
                        #expect(await !ann.screen.text.contains(" chat: "))
                    }
                }
            }
        }
    }
}
