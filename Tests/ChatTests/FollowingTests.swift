internal import TestedPrograms
internal import Testing

extension Chat {
    @Suite
    struct FollowingTests {
        private static func file(_ wire: Wire, _ server: ChatServer, level: String = "error") async -> String {
            """
            linkspan:
              transport:
                adapter: \(wire)
                socketio: { url: "\(await server.url(for: .socketio))" }
                websocket: { url: "\(await server.url(for: .websocket))" }
              services: { enabled: [rooms, presence, logging], logging: { level: \(level) } }
            """
        }

        @Test(.timeLimit(.minutes(2)))
        func `a changed file moves the chat to another transport without losing a line`() async throws {
            try await Bench.run { bench in
                let server = try await ChatServer.start(on: bench)
                let path = try bench.file("chat.yaml", await Self.file(.socketio, server))
                let chat = try await bench.chat(["join", "--name", "ann", "--config", path, "--watch"])
                try await chat.output.wait(forLine: "* connected over socketio")
                let lines = (1...60).map { "line \($0)" }
                try chat.type(Array(lines[..<20]))
                _ = try bench.file("chat.yaml", await Self.file(.websocket, server))
                try chat.type(Array(lines[20..<40]))
                try await chat.output.wait(forLine: "* transport socketio -> websocket")
                try chat.type(Array(lines[40...]))
                _ = try bench.file("chat.yaml", "linkspan: { transport: { adapter: pigeon } }")
                try await chat.output.wait(forLine: "* configuration not changed, the former one is still in effect:")
                _ = try bench.file("chat.yaml", await Self.file(.websocket, server, level: "critical"))
                try await chat.output.wait(forLine: "* ~ logging.level error -> critical (hot)")
                try chat.endInput()
                #expect(try await chat.exit() == 0)
                #expect(try server.kept(from: "ann") == lines)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `a session at a terminal stays where a changed file has moved it`() async throws {
            try await Bench.run { bench in
                let server = try await ChatServer.start(on: bench)
                let path = try bench.file("chat.yaml", await Self.file(.socketio, server))
                let arguments = ["join", "--name", "ann", "--config", path, "--watch"]
                try await Seat.take(on: bench, arguments, columns: 100) { ann in
                    try await ann.wait(for: "connected over socketio", row: -2)
                    _ = try bench.file("chat.yaml", await Self.file(.websocket, server))
                    try await ann.wait(for: "connected over websocket", row: -2)
                    try await ann.type("/nick anna\r")
                    try await ann.wait(for: "here: anna", row: -3)
                    try await ann.type("/explain\r")
                    let screen = try await ann.wait(for: "linkspan.transport.adapter = websocket")
                    #expect(screen.text.contains("The connection to \(await server.url(for: .websocket))/"))
                    try await ann.wait(for: "connected over websocket", row: -2)

                    try await ann.type("/transport socketio\r")
                    try await ann.wait(for: "connected over socketio", row: -2)
                    _ = try bench.file("chat.yaml", await Self.file(.websocket, server, level: "critical"))
                    try await ann.wait(for: "logging.level error -> critical (hot)")
                    try await ann.type("/nick eve\r")
                    try await ann.wait(for: "here: eve", row: -3)
                    try await ann.type("/explain\r")
                    try await ann.wait(for: "linkspan.transport.adapter = socketio")
                }
            }
        }
    }
}
