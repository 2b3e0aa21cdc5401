internal import Foundation
internal import TestedPrograms
internal import Testing

extension Tool {
    @Suite
    struct ConfigCommandTests {
        private static let app = ["--service", "rooms", "--service", "typing"]
        private static let file = """
            linkspan:
              transport:
                adapter: websocket
                websocket: { url: "ws://127.0.0.1:9/?token=s3cr3t", pingInterval: 3 }
              connection: { idleTimeout: 6 }
              services:
                enabled: [typing, rooms, logging]
                typing: { after: [logging], handleLimit: 0.5 }
                logging: { level: debug }
            """

        @Test(.timeLimit(.minutes(2)))
        func `a configuration without mistakes is valid`() async throws {
            try await Bench.run { bench in
                let path = try bench.file("chat.yaml", Self.file)
                let other = try await bench.runTool(["config", "check", "--config", path] + Self.app)
                #expect(other.status == 0)
                #expect(
                    other.output == [
                        "valid: websocket to ws://127.0.0.1:9/, services logging, connections, rooms, typing"
                    ])
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `a FIFO or a device as configuration is a mistake, and not waited for`() async throws {
            try await Bench.run { bench in
                let fifo = "\(bench.folder)/chat.yaml"
                try #require(mkfifo(fifo, 0o600) == 0)
                for (path, kind) in [(fifo, "FIFO"), ("/dev/zero", "device")] {
                    let check = try await bench.runTool(["config", "check", "--config", path])
                    #expect(check.status == 64 && check.output == [])
                    #expect(check.errors.joined().contains("it is a \(kind), not a regular file"))
                }
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `every mistake is reported on a line of its own, with status 64`() async throws {
            try await Bench.run { bench in
                let path = try bench.file("chat.yaml", Self.file + "\n  conection: {}\n")
                let check = try await bench.runTool(
                    ["config", "check", "--config", path] + Self.app,
                    environment: ["LINKSPAN_CONNECTION_IDLE_TIMEOUT": "soon"])
                #expect(check.status == 64 && check.output == [])
                #expect(
                    check.errors == [
                        "linkspan: 2 problems in configuration, nothing was started:",
                        "linkspan:  linkspan.conection  unknown section 'conection' (did you mean 'connection'? "
                            + "known: connection, outbox, services, transport)  from \(path):10",
                        "linkspan:  linkspan.connection.idleTimeout  expected seconds (a number from 0 to 86400), "
                            + "found \"soon\"  from LINKSPAN_CONNECTION_IDLE_TIMEOUT; hides 6 in \(path):5",
                    ])
                let json = try await bench.runTool(["config", "check", "--json", "--transport", "websockt"])
                #expect(json.status == 64)
                #expect(
                    json.output == [
                        #"{"problems":[{"code":"unknownName","#
                            + #""message":"unknown transport 'websockt' (did you mean 'websocket'? "#
                            + #"known: memory, socketio, websocket)","origin":"--transport","#
                            + #""path":"linkspan.transport.adapter"}]}"#
                    ])
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `the plan lists transport, options and services in the order of start`() async throws {
            try await Bench.run { bench in
                let path = try bench.file("chat.yaml", Self.file)
                let plan = try await bench.runTool(["config", "plan", "--config", path] + Self.app)
                #expect(plan.status == 0)
                #expect(
                    plan.output == [
                        "transport: websocket, from \(path):3", "endpoint: ws://127.0.0.1:9/, from \(path):4",
                        "option: transport.websocket.pingInterval = 3, from \(path):4",
                        "option: connection.idleTimeout = 6, from \(path):5", "start 1:", "  logging",
                        "      services.logging.level = debug, from \(path):9", "start 2:", "  connections",
                        "start 3:", "  rooms", "  typing after logging: need, from \(path):8",
                        "      services.typing.handleLimit = 0.5, from \(path):8",
                    ])
                let json = try await bench.runTool(["config", "plan", "--json", "--url", "ws://x?token=s3cr3t"])
                #expect(json.status == 0)
                #expect(json.output.first?.contains(#""endpoint":{"key":"endpoint","origin":"--url""#) == true)
                #expect(!(plan.output + json.output).contains { $0.contains("s3cr3t") })
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `a key is explained with everything that was said about it`() async throws {
            try await Bench.run { bench in
                let path = try bench.file("chat.yaml", Self.file)
                let key = try await bench.runTool(
                    ["config", "explain", "connection.idleTimeout", "--config", path] + Self.app,
                    environment: ["LINKSPAN_CONNECTION_IDLE_TIMEOUT": "7"])
                #expect(key.status == 0)
                #expect(
                    key.output == [
                        "linkspan.connection.idleTimeout = 7",
                        "  The time a connection stays up after its last holder released it.",
                        "  from: LINKSPAN_CONNECTION_IDLE_TIMEOUT", "  hides: 6 from \(path):5",
                        "  takes: seconds (a number from 0 to 86400)", "  default: 5",
                        "  a change while running: hot", "  variable: LINKSPAN_CONNECTION_IDLE_TIMEOUT",
                    ])
                let section = try await bench.runTool(
                    ["config", "explain", "services.logging", "--config", path] + Self.app)
                #expect(
                    section.output.contains(
                        "linkspan.services.logging.level = debug  from \(path):9"))
                let unknown = try await bench.runTool(["config", "explain", "connection.idleTimout", "--url", "ws://x"])
                #expect(unknown.status == 64)
                #expect(
                    unknown.errors.first?.contains("unknown option 'idleTimout' (did you mean 'idleTimeout'?") == true)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `without a transport, the scheme of the URL chooses it, and explain does not contradict itself`()
            async throws
        {
            try await Bench.run { bench in
                for (url, transport) in [("ws://127.0.0.1:1", "websocket"), ("https://localhost", "socketio")] {
                    let ended = try await bench.runTool(["config", "explain", "transport.adapter", "--url", url])
                    #expect(ended.output.first == "linkspan.transport.adapter = \(transport)")
                    #expect(ended.output.contains("  from: --url"))
                    #expect(!ended.output.contains { $0.contains("default: none") }, "\(ended.output)")
                }
            }
        }
    }
}
