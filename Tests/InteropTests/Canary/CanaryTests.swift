internal import TestSupport
internal import Foundation
internal import Linkspan
internal import LinkspanLifecycle
internal import LinkspanMessaging
internal import LinkspanServices
internal import LinkspanSocketIO
internal import LinkspanWebSocket
internal import LinkspanNetwork
internal import Testing

extension Interop {
    /// No secret turns up in a log line, an error, a description, a report or on standard error, whatever goes wrong.
    @Suite(.overBackEnds) struct CanaryTests {
        /// What happens to a connection that knows all the secrets.
        enum Scenario: String, CaseIterable, Sendable {
            case socketIO, webSocket, refusedNamespace, unknownPath, unreachable, unknownHost, plainForTLS
            case lineBreakInHeader, controlInCookie, longQuery, wrongScheme
            case redirect, hostileSID, deepJSON, headerFlood, textForBinary, unansweredConnect, endlessFragments
            case polling, upgrade, pollRedirect, pollRefusal, pollNotUTF8, pollEmpty, upgradeLost
            case wrongPin, unusableKey, recovery

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
                case .pollRedirect: "poll-later-redirect"
                case .pollRefusal: "poll-failing-post"
                case .pollNotUTF8: "poll-not-utf8"
                case .pollEmpty: "poll-empty-answers"
                case .upgradeLost: "candidate-lost"
                default: nil
                }
            }

            var carriers: SocketIOCarriers {
                switch self {
                case .polling, .pollRedirect, .pollRefusal, .pollNotUTF8, .pollEmpty: .polling
                case .upgrade, .upgradeLost: .upgrade
                default: .webSocket
                }
            }
        }

        /// An enumeration that a payload may fail to be.
        private enum Colour: String, Codable { case red, green }

        @Test(arguments: Scenario.allCases)
        func `no secret appears in errors, logs or descriptions`(_ scenario: Scenario) async throws {
            let canaries = Canaries()
            let evidence = Evidence()
            try await evidence.addingStandardError {
                let services = ServiceRegistry()
                try services.register(
                    LoggingService(logger: evidence.logger, families: Set(LoggingService.Family.allCases))
                ).keep()
                try await services.start()
                let manager = ConnectionManager(
                    options: .init {
                        $0.logger = evidence.logger
                    }, services: services)
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

        @Test(arguments: 0..<10)
        func `the search finds what is there`(_ index: Int) {
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
            let certificates = scenario == .wrongPin ? try await SharedServers.certificates() : nil
            let server =
                if let attack = scenario.attack {
                    PythonServer("hostile_server.py", ["--attack", attack, "--cookie", "route=\(canaries.route)"])
                } else { certificates.map { PythonServer("socketio_server.py", $0.options("good")) } }
            try await server?.start()
            let client = try await bench.client(
                try await Self.configuration(scenario, canaries, evidence, bench, server, certificates))
            let outcomes = Journal<Result<Payload, LinkspanError>>("outcomes")
            // The server that resumes knows no requests.
            let requests = scenario == .recovery ? 0 : 1
            for _ in 0..<requests {
                let command = Command(.request, event: "req", payload: try Payload(canaries.payload)) {
                    outcomes.append($0.mapError { $0 })
                }
                do throws(LinkspanError) {
                    try client.handler.perform(command)
                } catch {
                    // The connection has failed already.
                    outcomes.append(.failure(error))
                }
            }
            await evidence.add(client)
            switch scenario {
            case .socketIO, .webSocket, .polling, .upgrade:
                try await Self.talk(client, canaries, evidence)
            case .recovery:
                try await Self.resume(client, canaries, evidence)
            default:
                evidence.add(describing: try await client.lost())
            }
            await evidence.add(client)
            // Ends what still waits.
            client.handler.release()
            for outcome in try await outcomes.first(requests) {
                if case .failure(let error) = outcome { evidence.add(error) }
            }
            await evidence.add(client)
            await server?.stop()
        }

        /// What is connected to, by what and as whom.
        private static func configuration(
            _ scenario: Scenario, _ canaries: Canaries, _ evidence: Evidence, _ bench: Bench, _ server: PythonServer?,
            _ certificates: Certificates?
        ) async throws -> ConnectionConfiguration {
            let credentials = try Self.credentials(scenario, canaries)
            let policy =
                scenario == .unusableKey
                ? try canaries.policyWithKey() : try canaries.policy(trusting: certificates?.authority)
            let resumption = try canaries.resumption()
            evidence.add(describing: credentials)
            evidence.add(describing: try canaries.policyWithKey())
            evidence.add(describing: resumption)
            let transport: any Transport =
                [.webSocket, .unknownPath].contains(scenario)
                ? WebSocketTransport(.init { $0.tls = policy }, loop: bench.loop)
                : SocketIOTransport(
                    .init {
                        $0.tls = policy
                        $0.carriers = scenario.carriers
                    }, loop: bench.loop)
            evidence.add(describing: transport.options)
            let url = try await Self.url(scenario, server) + "?room=\(canaries.urlQuery)"
            return try ConnectionBuilder(url)
                .transport(transport)
                .credentials(.fixed(credentials))
                .resuming(resumption)
                .options {
                    $0.retry = .quick
                    Self.options(&$0)
                }
                .build()
        }

        /// A server that resumes does not know what it is shown, and gives something else in its place.
        private static func resume(_ client: Client, _ canaries: Canaries, _ evidence: Evidence) async throws {
            try await client.connected()
            try client.handler.send("say", 1)
            try await client.received("said")
            evidence.add(describing: client.handler.status.resumption)
            try client.handler.send("cut", 2, 0)
            evidence.add(describing: try await client.lost())
            try await client.connected(times: 2)
            let exported = try #require(client.handler.status.resumption?.exposed)
            await evidence.add(client)
            let text = evidence.text
            // What the server gave in its place is as secret.
            for secret in [exported, String(exported.split(separator: "\"")[0])] {
                guard let place = text.range(of: secret) else { continue }
                throw LinkspanError(
                    .wrongState, "the session's secret turns up behind: \(text[..<place.lowerBound].suffix(200))")
            }
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
            if let server { return "\(scenario == .wrongPin ? "https" : "http")://127.0.0.1:\(server.port)/" }
            switch scenario {
            case .webSocket: return "ws://127.0.0.1:\(try await SharedServers.server(.webSocket).port)/envelope"
            case .unknownPath: return "ws://127.0.0.1:\(try await SharedServers.server(.webSocket).port)/nowhere"
            case .refusedNamespace: return "http://127.0.0.1:\(try await SharedServers.server(.aiohttp).port)/auth"
            case .unreachable: return "http://127.0.0.1:1/"
            case .unknownHost: return "http://does-not-exist.invalid/"
            case .recovery: return "http://127.0.0.1:\(try await SharedServers.server(.recovery).port)/"
            case .plainForTLS, .unusableKey:
                return "https://127.0.0.1:\(try await SharedServers.server(.aiohttp).port)/"
            case .wrongScheme: return "http://127.0.0.1:1/a,b"
            default: return "http://127.0.0.1:\(try await SharedServers.server(.aiohttp).port)/"
            }
        }
    }
}
