internal import Foundation
internal import Linkspan
internal import LinkspanLifecycle
internal import LinkspanLogging
internal import LinkspanSocketIO
internal import LinkspanWebSocket
internal import Testing

extension Interop {
    /// No secret turns up in a log line, an error, a description, a report or on standard error, whatever goes wrong.
    @Suite struct CanaryTests {
        /// What happens to a connection that knows all the secrets.
        enum Scenario: String, CaseIterable, Sendable {
            case socketIO, webSocket, refusedNamespace, unknownPath, unreachable, unknownHost, plainForTLS
            case lineBreakInHeader, controlInCookie, longQuery, wrongScheme
            case redirect, hostileSID, deepJSON, headerFlood, textForBinary, unansweredConnect, endlessFragments

            /// The attack of the hostile server, where one is needed.
            var attack: String? {
                switch self {
                case .redirect: "redirect"
                case .hostileSID: "hostile-sid"
                case .deepJSON: "deep-json"
                case .headerFlood: "header-flood"
                case .textForBinary: "text-for-binary"
                case .unansweredConnect: "unanswered-connect"
                case .endlessFragments: "endless-fragments"
                default: nil
                }
            }
        }

        /// An enumeration that a payload may fail to be.
        private enum Colour: String, Codable { case red, green }

        @Test("no secret is told", arguments: Scenario.allCases)
        func tellsNothing(_ scenario: Scenario) async throws {
            let canaries = Canaries()
            let evidence = Evidence()
            try await evidence.addingStandardError {
                let services = ServiceRegistry()
                try services.register(
                    LoggingService(logger: evidence.logger, families: Set(LoggingService.Family.allCases))
                ).keep()
                try await services.start()
                let manager = ConnectionManager(services: services, logger: evidence.logger)
                try await Bench.use(manager) { bench in try await Self.play(scenario, canaries, evidence, bench) }
                await services.stop()
            }
            let text = evidence.text
            // What is searched has to be there at all.
            #expect(text.contains("standard error is watched") && text.contains("log ") && text.utf8.count > 1000)
            for canary in canaries.found(in: text) {
                let place = text.range(of: canary).map { text[..<$0.lowerBound].suffix(200) } ?? ""
                Issue.record("\(canary) turns up behind: \(place)")
            }
        }

        @Test("the search finds what is there", arguments: 0..<6)
        func finds(_ index: Int) {
            let canaries = Canaries()
            let canary = canaries.all[index]
            let evidence = Evidence()
            #expect(canaries.found(in: evidence.text).isEmpty)
            evidence.add(describing: Array(canary.utf8))
            #expect(canaries.found(in: evidence.text) == [canary])
            #expect(canaries.found(in: "x\(canary)y") == [canary])
        }

        private static func play(
            _ scenario: Scenario, _ canaries: Canaries, _ evidence: Evidence, _ bench: Bench
        ) async throws {
            let credentials = try Self.credentials(scenario, canaries)
            evidence.add(describing: credentials)
            let server = scenario.attack.map { PythonServer("hostile_server.py", ["--attack", $0]) }
            try await server?.start()
            let url = try await Self.url(scenario, server) + "?room=\(canaries.urlQuery)"
            let client =
                [.webSocket, .unknownPath].contains(scenario)
                ? try await bench.client(url, WebSocketTransport(loop: bench.loop), .fixed(credentials), Self.options)
                : try await bench.client(url, SocketIOTransport(loop: bench.loop), .fixed(credentials), Self.options)
            let outcomes = Journal<Result<Payload, LinkspanError>>("outcomes")
            try client.handler.perform(
                Command(.request, event: "req", payload: try Payload(canaries.payload)) {
                    outcomes.append($0.mapError { $0 })
                })
            evidence.add(client)
            switch scenario {
            case .socketIO, .webSocket:
                try await Self.talk(client, canaries, evidence)
            default:
                evidence.add(describing: try await client.lost())
            }
            evidence.add(client)
            // Ends what still waits.
            client.handler.release()
            for outcome in try await outcomes.first(1) {
                if case .failure(let error) = outcome { evidence.add(error) }
            }
            evidence.add(client)
            await server?.stop()
        }

        /// A conversation that ends badly.
        private static func talk(_ client: Client, _ canaries: Canaries, _ evidence: Evidence) async throws {
            try await client.connected()
            try client.handler.send("echo", canaries.payload, ["k": canaries.payload])
            let message = try await client.received("echo")[0]
            do { _ = try message.decode(Colour.self) } catch { evidence.add(error) }
            do { _ = try message.decode([String: Colour].self, at: 1) } catch { evidence.add(error) }
            for name in ["connect", canaries.payload] {
                try client.handler.perform(
                    Command(.request, event: "unheard of", payload: try Payload(name)) {
                        if case .failure(let error) = $0 { evidence.add(error) }
                    })
            }
            try client.handler.send("kill_engine")
            evidence.add(describing: try await client.lost())
        }

        private static func options(_ options: inout ConnectionOptions) {
            options.openDeadline = .seconds(1)
            options.trace = 64
        }

        private static func credentials(_ scenario: Scenario, _ canaries: Canaries) throws -> Credentials {
            switch scenario {
            case .lineBreakInHeader: try canaries.credentials(adding: "X-Token", "\(canaries.header)\r\nX: y")
            case .controlInCookie: try canaries.credentials(adding: "Cookie", "a=\(canaries.cookie)\u{1}")
            case .longQuery:
                try canaries.credentials(adding: "X-Token", String(repeating: canaries.header, count: 100))
            case .refusedNamespace:
                Credentials(
                    auth: try Payload(["token": "bad", "secret": canaries.token]),
                    headers: [.init("Cookie", Secret(canaries.cookie))])
            default: try canaries.credentials()
            }
        }

        private static func url(_ scenario: Scenario, _ server: PythonServer?) async throws -> String {
            if let server { return "http://127.0.0.1:\(server.port)/" }
            switch scenario {
            case .webSocket: return "ws://127.0.0.1:\(try await SharedServers.server(.webSocket).port)/envelope"
            case .unknownPath: return "ws://127.0.0.1:\(try await SharedServers.server(.webSocket).port)/nowhere"
            case .refusedNamespace: return "http://127.0.0.1:\(try await SharedServers.server(.aiohttp).port)/auth"
            case .unreachable: return "http://127.0.0.1:1/"
            case .unknownHost: return "http://does-not-exist.invalid/"
            case .plainForTLS: return "https://127.0.0.1:\(try await SharedServers.server(.aiohttp).port)/"
            case .wrongScheme: return "http://127.0.0.1:1/a,b"
            default: return "http://127.0.0.1:\(try await SharedServers.server(.aiohttp).port)/"
            }
        }
    }
}
