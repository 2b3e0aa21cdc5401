internal import Foundation
internal import Linkspan
internal import LinkspanDevServer
internal import LinkspanFaults
internal import LinkspanInMemory
internal import LinkspanRuntime
internal import LinkspanTesting
internal import TestedPrograms
internal import TestSupport
internal import Testing

@testable import linkspan

extension Tool {
    /// `linkspan load` and `linkspan proxy` against servers of the tests.
    @Suite(.timeLimit(.minutes(2)))
    struct LoadTests {
        /// Loses, doubles and swaps messages of an echo, by a seed.
        private struct FaultyEcho: Sendable {
            var generator: SeededGenerator
            var faults = SequenceBook.Faults()
            var held: [UInt64: Payload] = [:]

            mutating func answers(to payload: Payload, of peer: UInt64) -> [Payload] {
                if let late = self.held.removeValue(forKey: peer) {
                    self.faults.reordered += 1
                    return [payload, late]
                }
                switch Int.random(in: 0..<500, using: &self.generator) {
                case 0:
                    self.faults.lost += 1
                    return []
                case 1:
                    self.faults.doubled += 1
                    return [payload, payload]
                case 2:
                    self.held[peer] = payload
                    return []
                default: return [payload]
                }
            }
        }

        private func report(of ended: Ended) throws -> LoadReport {
            let line = try #require(ended.output.last, "\(ended.errors)")
            return try JSONDecoder().decode(LoadReport.self, from: Data(line.utf8))
        }

        @Test(arguments: [3, 4] as [UInt64])
        func `the faults of a server are counted exactly`(_ seed: UInt64) async throws {
            let echo = Lock(FaultyEcho(generator: SeededGenerator(seed: seed)))
            let hub = InMemoryHub()
            hub.onConnect { peer in
                peer.on("echo") { message in
                    let answers = echo.withLock { $0.answers(to: message.payload, of: peer.id) }
                    for answer in answers { peer.emit("echo", answer) }
                }
            }
            let server = DevServer(hub: hub)
            try await server.start()
            try await Bench.run { bench in
                let ended = try await bench.runTool([
                    "load", server.socketIOURL, "--clients", "10", "--ramp", "0.2", "--emit", "echo", "--rate", "400",
                    "--count", "1000", "--json", "--threshold", "lost==0",
                ])
                let report = try self.report(of: ended)
                var expected = echo.withLock { $0.faults }
                // What the server still holds was not sent.
                expected.lost += echo.withLock { $0.held.count }
                #expect(report.fromServer == expected)
                #expect(report.toServer == .init() && report.sent == 10_000)
                #expect(expected.lost > 0 && expected.doubled > 0 && expected.reordered > 0)
                #expect(report.times["delivery"]?.count == report.received)
                #expect(ended.status == 1 && report.thresholds.map(\.isMet) == [false])
            }
            await server.stop()
        }

        @Test
        func `Ctrl-C ends a load with the report of what was measured until then`() async throws {
            let hub = InMemoryHub()
            let echoed = Journal<UInt64>("echoes")
            hub.onConnect { peer in
                peer.on("echo") {
                    peer.emit("echo", $0.payload)
                    echoed.append(peer.id)
                }
            }
            let server = DevServer(hub: hub)
            try await server.start()
            try await Bench.run { bench in
                let load = try await bench.tool([
                    "load", server.socketIOURL, "--clients", "5", "--emit", "echo", "--rate", "20", "--duration", "600",
                    "--json",
                ])
                try await echoed.first(40)
                load.interrupt()
                #expect(try await load.exit(within: .seconds(20)) == 130)
                let report = try JSONDecoder().decode(
                    LoadReport.self, from: Data(try #require(await load.output.lines.last).utf8))
                #expect(report.isInterrupted && report.sent > 0 && report.sent == report.received)
                #expect(report.fromServer == .init() && report.errors.isEmpty && report.seconds < 60)
            }
            await server.stop()
        }

        @Test
        func `requests that are answered after the last one was sent are not lost`() async throws {
            let held = Lock<[HubMessage]>([])
            let hub = InMemoryHub()
            hub.onConnect { peer in
                peer.on("req") { message in
                    let messages = held.withLock { held in
                        held.append(message)
                        return held.count == 3 ? held : []
                    }
                    for message in messages { message.reply(message.payload) }
                }
            }
            let server = DevServer(hub: hub)
            try await server.start()
            try await Bench.run { bench in
                let ended = try await bench.runTool([
                    "load", server.socketIOURL, "--clients", "1", "--request", "req", "--rate", "1000", "--count", "3",
                    "--json", "--threshold", "lost==0",
                ])
                let report = try self.report(of: ended)
                #expect(ended.status == 0 && report.toServer == .init() && report.received == 3)
                // The time line has all that the totals have.
                #expect(report.timeline.map(\.sent).reduce(0, +) == 3)
                #expect(report.timeline.map(\.received).reduce(0, +) == 3)
            }
            await server.stop()
        }

        @Test
        func `a message that is not sent is an error, and not lost by the server`() async throws {
            let server = DevServer(hub: InMemoryHub(), configuration: .init { $0.maximumMessageBytes = 2_000 })
            try await server.start()
            try await Bench.run { bench in
                let large = #""{{stamp}} \#(String(repeating: "x", count: 3_000))""#
                for (url, action, payload, reason) in [
                    (server.socketIOURL, "--emit", large, "more than the 2000 that the server accepts"),
                    (server.socketIOURL, "--request", large, "more than the 2000 that the server accepts"),
                    (server.webSocketURL, "--emit", #"{"a":"{{stamp}}"}"#, "sends only events with one string"),
                ] {
                    let ended = try await bench.runTool([
                        "load", url, "--clients", "2", action, "echo", "--count", "3", "--payload", payload, "--json",
                    ])
                    let report = try self.report(of: ended)
                    #expect(report.fromServer == .init() && report.toServer == .init() && report.sent == 0)
                    #expect(report.errors.values.reduce(0, +) == 6, "\(report.errors)")
                    #expect(report.errors.keys.allSatisfy { $0.contains(reason) }, "\(report.errors)")
                }
            }
            await server.stop()
        }

        @Test
        func `a scenario with users, namespaces, requests and a broadcast is carried out`() async throws {
            let names = Lock<Set<String>>([])
            let (main, room) = (InMemoryHub(), InMemoryHub())
            main.onConnect { peer in
                _ = names.withLock { $0.insert(peer.request.credentials.auth?[0]?["name"]?.string ?? "") }
                peer.on("who") { message in message.reply(message.payload) }
            }
            room.onConnect { peer in peer.on("say") { message in room.emit("line", message.payload) } }
            let server = DevServer(hub: main, namespaces: ["/room": room])
            try await server.start()
            try await Bench.run { bench in
                let users = try bench.file("users.csv", "name\nann\nbob\n")
                let scenario = try bench.file(
                    "load.yaml",
                    """
                    clients: 4
                    ramp: 0.1
                    users: \(users)
                    auth: '{"name": "{{name}}"}'
                    namespaces: [/, /room]
                    repeat: 2
                    steps:
                      - {request: who, payload: '"{{stamp}}"', count: 3, within: 5}
                      - {emit: say, payload: '{"text": "{{stamp}}"}', count: 5, audience: everyone, namespace: 1}
                      - {expect: line, count: 5, within: 5}
                      - {think: 0.05}
                    thresholds: [lost==0, doubled==0, reordered==0, errors==0, request.p99<30s]
                    """)
                let (page, text) = ("\(bench.folder)/load.html", "\(bench.folder)/load.md")
                let ended = try await bench.runTool([
                    "load", server.socketIOURL, "--scenario", scenario, "--json", "--html", page, "--markdown", text,
                ])
                let report = try self.report(of: ended)
                #expect(ended.status == 0 && ended.errors == [])
                #expect(names.withLock { $0 } == ["ann", "bob"])
                #expect(report.sent == 4 * 2 * 8)
                #expect(report.times["request"]?.count == 4 * 2 * 3)
                #expect(report.times["delivery"]?.count == 4 * 4 * 2 * 5)
                #expect(try String(contentsOfFile: text, encoding: .utf8).contains("| from the server | 0 | 0 | 0 |"))
                let html = try String(contentsOfFile: page, encoding: .utf8)
                #expect(html.contains("<svg") && !html.contains("<script") && !html.contains("http-equiv"))
            }
            await server.stop()
        }

        @Test
        func `clients come back from a storm of resets, and what it cost them is told`() async throws {
            let hub = InMemoryHub()
            hub.onConnect { peer in peer.on("echo") { message in peer.emit("echo", message.payload) } }
            let server = DevServer(hub: hub)
            try await server.start()
            try await Bench.run { bench in
                let ended = try await bench.runTool([
                    "load", server.webSocketURL, "--envelope", "json", "--clients", "20", "--ramp", "0.1", "--emit",
                    "echo",
                    "--rate", "20", "--duration", "4", "--drop", "30%/s", "--seed", "7", "--json",
                ])
                let report = try self.report(of: ended)
                #expect(ended.status == 0)
                #expect((report.times["reconnect"]?.count ?? 0) > 0)
                #expect(report.errors.keys.contains { $0.hasPrefix("connectionLost") })
                #expect(report.sent == 20 * 80 || report.sent > 1_000)
            }
            await server.stop()
        }

        @Test
        func `a server that is not there and a mistake have statuses and sentences of their own`() async throws {
            try await Bench.run { bench in
                let absent = try await bench.runTool(["load", "http://127.0.0.1:1", "--clients", "2", "--emit", "echo"])
                #expect(absent.status == 69)
                #expect(absent.errors.count == 1 && absent.errors[0].contains("no client could connect"))
                let many = try await bench.runTool(["load", "http://127.0.0.1:1", "--clients", "1000000"])
                #expect(many.status == 64)
                #expect(many.errors.first?.contains("this load needs 1000064 open files") == true)
                let missing = try await bench.runTool(["load", "http://127.0.0.1:1", "--scenario", "absent.yaml"])
                #expect(missing.status == 64 && missing.errors.first?.contains("absent.yaml cannot be read") == true)
            }
        }

        @Test
        func `a report goes through a link, and a full disk is told`() async throws {
            try await Bench.run { bench in
                let (report, link) = ("\(bench.folder)/report.md", "\(bench.folder)/link.md")
                try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: report)
                let load = ["load", "http://127.0.0.1:1", "--clients", "1", "--emit", "a", "--markdown"]
                #expect(try await bench.runTool(load + [link]).status == 69)
                #expect(try String(contentsOfFile: report, encoding: .utf8).hasPrefix("# Load of http://127.0.0.1:1"))
                #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == report)
                let full = try await bench.runTool(load + ["/dev/full"])
                #expect(full.status == 64)
                #expect(full.errors.last?.contains("the report cannot be written to /dev/full: ") == true, "\(full)")
            }
        }

        @Test
        func `an error behind a proxy of the load names the server`() async throws {
            let server = DevServer(hub: InMemoryHub())
            try await server.start()
            try await Bench.run { bench in
                let ended = try await bench.runTool([
                    "load", "\(server.socketIOURL)nope", "--clients", "1", "--drop", "1%", "--json",
                ])
                let errors = try self.report(of: ended).errors.keys
                #expect(errors.count == 1, "\(errors)")
                #expect(errors.first?.contains("127.0.0.1:\(server.port)/nope") == true, "\(errors)")
            }
            await server.stop()
        }

        @Test
        func `the bytes that a proxy changes count while their connection is open`() async throws {
            let server = DevServer(hub: InMemoryHub())
            try await server.start()
            let profile = FaultProfile { ($0.corruption, $0.from) = (1, .server) }
            let proxy = try FaultProxy(to: "127.0.0.1", port: server.port, profile: profile, seed: 7)
            let client = try RawClient(port: proxy.port)
            client.ask("GET", "/nothing")
            try await eventually(until: { proxy.statistics.corruptedBytes > 0 })
            await proxy.stop()
            await server.stop()
        }

        /// Starts `linkspan proxy` in front of a server, and connects to it.
        private static func proxy(
            to server: DevServer, on bench: Bench, _ flags: String...
        ) async throws -> (proxy: Child, client: RawClient) {
            let proxy = try await bench.tool(["proxy", "0", "127.0.0.1:\(server.port)"] + flags)
            let line = try #require(try await proxy.errors.wait(forLine: "listening at port ").last)
            return (proxy, try RawClient(port: try #require(Int(line.split(separator: " ")[3]))))
        }

        @Test
        func `proxies with the same seed change the same bytes`() async throws {
            let server = DevServer(hub: InMemoryHub())
            try await server.start()
            try await Bench.run { bench in
                let profile = try bench.file("corrupt.yaml", "phases: [{corruption: 0.2, from: server}]\n")
                var answers: [[UInt8]] = []
                for seed in ["7", "7", "8"] {
                    let (_, client) = try await Self.proxy(to: server, on: bench, "--profile", profile, "--seed", seed)
                    client.ask("GET", "/nothing")
                    answers.append(try #require(client.readToEnd()))
                }
                #expect(answers[0] == answers[1] && answers[1] != answers[2] && !answers[0].isEmpty)
            }
            await server.stop()
        }

        @Test
        func `the proxy disturbs by the profile of a file`() async throws {
            let server = DevServer(hub: InMemoryHub())
            try await server.start()
            try await Bench.run { bench in
                let profile = try bench.file("lossy.yaml", "phases:\n  - {cut: 9, from: server, ending: close}\n")
                let (proxy, client) = try await Self.proxy(
                    to: server, on: bench, "--profile", profile, "--seed", "7", "--json")
                client.ask("GET", "/nothing")
                #expect(client.readToEnd() == Array("HTTP/1.1 ".utf8))
                try await proxy.output.wait(forLine: #"{"bytes":"#)
                let wrong = try bench.file("wrong.yaml", "phases: [{dellay: 1}]")
                let refused = try await bench.runTool(["proxy", "0", "127.0.0.1:1", "--profile", wrong])
                #expect(refused.status == 64)
                #expect(
                    refused.errors.first?.contains("wrong.yaml:1: phases[0].dellay: 'dellay' is none of") == true)
                let stray = try bench.file("stray.yaml", "phases: []\nphase: [{delay: 1}]")
                let unknown = try await bench.runTool(["proxy", "0", "127.0.0.1:1", "--profile", stray])
                #expect(unknown.status == 64)
                #expect(
                    unknown.errors.first?.contains("stray.yaml:2: phase: 'phase' is none of phases") == true,
                    "\(unknown)")
                let zero = try await bench.runTool(["proxy", "0", "127.0.0.1:0"])
                #expect(zero.status == 64 && zero.errors.first?.contains("from 1 to 65535, not 0") == true, "\(zero)")
                let nowhere = try await bench.runTool(["proxy", "0", "nowhere"])
                #expect(nowhere.status == 64 && nowhere.errors.first?.contains("write it as HOST:PORT") == true)
            }
            await server.stop()
        }
    }
}
