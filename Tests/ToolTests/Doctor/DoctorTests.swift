internal import ArgumentParser
internal import Foundation
internal import Linkspan
internal import LinkspanBackEnds
internal import LinkspanNetwork
@testable internal import linkspan
internal import TestedPrograms
internal import Testing

extension Tool {
    /// `linkspan doctor` against servers and proxies of `faults.py`.
    @Suite
    struct DoctorTests {
        /// What the JSON of a report says.
        struct Findings: Decodable {
            struct Verdict: Decodable {
                var code: String
                var cause: String
                var remedy: String
            }

            struct Stage: Decodable {
                var stage: String
                var outcome: String
                var detail = ""
            }

            var health: String
            var verdict: Verdict?
            var stages: [Stage]
            var certificates: [Certificate]?
        }

        /// Examines the server of a case by a URL with this scheme and, after a colon, this path.
        ///
        /// Among the flags, `AUTHORITY` stands for the file of the case's authority.
        /// Starts a set-up, and returns its port.
        private static func serve(_ name: String, on bench: Bench) async throws -> Substring {
            let script = "\(Place.root)/Tests/ToolTests/Doctor/faults.py"
            let server = try await bench.start(name, [try Place.python(), script, name, bench.folder])
            let line = try #require(try await server.output.wait(forLine: "listening ").first)
            return try #require(line.split(separator: " ").last)
        }

        private static func examine(
            _ name: String, _ scheme: String, _ flags: [String]
        ) async throws -> (Findings, Int) {
            let findings = Findings(health: "", verdict: nil, stages: [])
            let result = Result(findings, 0)
            try await Bench.run { bench in
                let port = try await Self.serve(name, on: bench)
                let parts = scheme.split(separator: ":", maxSplits: 1)
                let url = "\(parts[0])://127.0.0.1:\(port)\(parts.dropFirst().joined())"
                let options = flags.map { $0 == "AUTHORITY" ? "\(bench.folder)/authority.pem" : $0 }
                let ended = try await bench.runTool(["doctor", url, "--json", "--timeout", "24"] + options)
                let text = try #require(ended.output.first, "\(ended.errors)")
                let decoder = JSONDecoder()
                decoder.dateDecodingStrategy = .iso8601
                await result.set(try decoder.decode(Findings.self, from: Data(text.utf8)), ended.status)
            }
            return await result.value
        }

        private actor Result {
            private(set) var value: (Findings, Int)

            init(_ findings: Findings, _ status: Int) { self.value = (findings, status) }

            func set(_ findings: Findings, _ status: Int) { self.value = (findings, status) }
        }

        private static let cors = ["--origin", "https://app.example"]
        private static let trusting = ["--ca", "AUTHORITY"]
        private static let pin = ["--pin", "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]

        @Test(
            .timeLimit(.minutes(2)),
            arguments: [
                ("full", "http", [], "unreachable"), ("silent", "http", [], "noAnswer"),
                ("silent", "ws", [], "noAnswer"), ("noisy", "http", [], "notHTTP"),
                ("hanging", "http", [], "hungUp"), ("hanging", "ws", [], "hungUp"), ("page", "http", [], "notSocketIO"),
                ("page", "ws", [], "notWebSocket"), ("status-401", "http", [], "unauthorized"),
                ("status-401", "ws", [], "unauthorized"), ("status-403", "http", [], "forbidden"),
                ("status-404", "http", [], "notFound"), ("status-404", "ws", [], "notFound"),
                ("status-500", "http", [], "serverError"), ("redirect", "http", [], "redirected"),
                ("old", "http", [], "oldProtocol"), ("unsupported", "http", [], "queryLost"),
                ("cors", "http", cors, "originRefused"), ("no-cors", "http", cors, "corsMissing"),
                ("origins", "ws", cors + ["--idle", "1"], "originRefused"), ("small", "http", [], "messageLimit"),
                ("refusing", "http", [], "authRefused"), ("healthy", "http:/nope", [], "namespaceRefused"),
                ("polling-only", "http", [], "pollingOnly"), ("no-pings", "http", [], "noPings"),
                ("no-open", "http", [], "noOpen"), ("hang-up", "http", [], "closedAfterUpgrade"),
                ("slow-path", "http", [], "pingTimeoutTooShort"), ("wrong-accept", "http", [], "badHandshake"),
                ("wrong-accept", "ws", [], "badHandshake"), ("subprotocol", "ws", [], "subprotocolMissing"),
                ("closing", "ws", [], "authRefused"), ("status-429", "http", [], "rateLimited"),
                ("status-429", "ws", [], "rateLimited"), ("empty", "http", [], "notSocketIO"),
                ("disconnecting", "http", [], "disconnected"), ("bad-open", "http", [], "badOpen"),
                ("bad-frame-open", "http", [], "badOpen"), ("zero-interval", "http", [], "badOpen"),
                ("huge-interval", "http", [], "badOpen"),
                ("masked", "ws", [], "brokenFrames"),
                ("unasked", "ws", [], "subprotocolMissing"), ("full-room", "http:/room", [], "authRefused"),
                ("banned", "http", [], "closedByServer"), ("zipped", "http", [], "badOpen"),
                ("endless", "http", [], "notSocketIO"), ("status-413", "http", [], "messageLimit"),
                ("healthy-websocket", "http", [], "notSocketIO"), ("needs-origin", "ws", [], "originRefused"),
                ("healthy", "http", ["-H", "X Y: a"], "invalidFlags"),
                ("no-upgrade-answer", "http", [], "upgradeSilent"), ("closed-session", "http", [], "closedByServer"),
                ("web-app", "http:/live", [], "notSocketIO"), ("web-app", "http", [], "notFound"),
                ("healthy", "ws", [], "notWebSocket"), ("healthy", "ws:/socket.io/", [], "notWebSocket"),
                ("redis", "http", [], "notHTTP"), ("http2", "http", [], "http2Only"), ("http2", "ws", [], "http2Only"),
                ("status-405", "http", [], "notFound"), ("status-407", "http", [], "proxyFailed"),
                ("status-410", "ws", [], "notFound"), ("status-421", "http", [], "hostRefused"),
                ("wrong-host", "ws", [], "hostRefused"), ("status-451", "http", [], "forbidden"),
                ("binary-open", "http", [], "badOpen"), ("unread", "http", [], "noPong"),
                ("old-socket", "http", [], "oldProtocol"),
                ("one-origin", "ws", cors + ["-H", "Origin: https://app.example", "--idle", "1"], "originRefused"),
                ("status-511", "http", [], "captivePortal"), ("status-526", "http", [], "badGateway"),
                ("bare-lf", "http", [], "noPings"), ("bare-lf-chunks", "http", [], "brokenAnswer"),
                ("below-a-path", "http:/app", [], "notFound"), ("below-a-path", "http:/app/", [], "notFound"),
                ("status-406", "http", [], "forbidden"), ("status-414", "ws", [], "headerTooLarge"),
                ("status-431", "http", [], "headerTooLarge"), ("large-cookie", "http", [], "headerTooLarge"),
                ("closing-1000", "ws", [], "closedByServer"), ("closing-1011", "ws", [], "serverError"),
                ("closing-1012", "ws", [], "unavailable"), ("closing-1013", "ws", [], "unavailable"),
            ] as [(String, String, [String], String)])
        func `the fault of a server is the verdict`(
            name: String, scheme: String, flags: [String], code: String
        ) async throws {
            try await Self.expect(code, of: name, scheme, flags)
        }

        @Test(
            .timeLimit(.minutes(2)),
            arguments: [
                ("nginx-dead", "http", "badGateway"), ("nginx-slow", "http", "gatewayTimeout"),
                ("nginx-no-upgrade", "http", "upgradeStripped"), ("nginx-raw-no-upgrade", "ws", "upgradeStripped"),
                ("nginx-idle", "http", "idleCut"), ("nginx-raw-idle", "ws", "idleCut"),
                ("nginx-split", "http", "sessionsSplit"), ("haproxy-dead", "http", "unavailable"),
                ("haproxy-split", "http", "sessionsSplit"), ("haproxy-idle", "http", "idleCut"),
                ("buffering", "http", "upgradeSilent"), ("short-life", "http", "lifetimeCut"),
                ("nginx-half-upgrade", "http", "upgradeStripped"),
                ("nginx-connections", "ws", "rateLimited"), ("nginx-requests-1", "http", "rateLimited"),
                ("nginx-requests-4", "http", "rateLimited"), ("nginx-body", "http", "messageLimit"),
                ("nginx-get-alone", "http", "forbidden"), ("nginx-no-query", "http", "queryLost"),
                ("nginx-cache", "http", "cached"), ("nginx-to-tls", "http", "badGateway"),
                ("nginx-to-tls", "ws", "badGateway"), ("nginx-no-agent", "http", "forbidden"),
                ("haproxy-one", "http", "connectionLimit"), ("haproxy-raw-one", "ws", "connectionLimit"),
                ("haproxy-proxy-protocol", "http", "proxyProtocol"), ("hole", "http", "messageLimit"),
            ])
        func `the fault of a proxy is the verdict`(name: String, scheme: String, code: String) async throws {
            try await Self.expect(code, of: name, scheme, [])
        }

        @Test(
            .timeLimit(.minutes(2)),
            arguments: [
                ("tls-expired", "https", trusting, "certificateExpired"),
                ("tls-future", "https", trusting, "certificateNotYetValid"),
                ("tls-wrongname", "https", trusting, "certificateWrongName"),
                ("tls-selfsigned", "https", [], "certificateSelfSigned"),
                ("tls-incomplete", "https", trusting, "certificateIncomplete"),
                ("tls-good", "wss", trusting + pin, "pinMismatch"), ("tls-good", "http", [], "tlsRequired"),
                ("tls-good", "ws", [], "tlsRequired"), ("healthy", "https", [], "plainServer"),
                ("healthy-websocket", "wss", [], "plainServer"), ("hanging", "https", [], "tlsFailed"),
                ("redis", "https", [], "notHTTP"), ("noisy", "wss", [], "notHTTP"),
                ("nginx-client-certificate", "https", trusting, "clientCertificateWanted"),
                ("tls-1.2-wants-client", "https", trusting, "clientCertificateWanted"),
                ("tls-1.3-wants-client", "https", trusting, "clientCertificateWanted"),
                ("tls-1.3-wants-client", "wss", trusting, "clientCertificateWanted"),
                ("tls-1.1", "https", trusting, "tlsVersion"), ("tls-no-cipher", "https", trusting, "tlsFailed"),
                ("tls-http2", "https", trusting, "http2Only"),
                ("nginx-unknown-name", "https", trusting, "serverNameUnknown"),
            ])
        func `a fault of TLS is the verdict`(
            name: String, scheme: String, flags: [String], code: String
        ) async throws {
            try await Self.expect(code, of: name, scheme, flags)
        }

        @Test(
            .timeLimit(.minutes(2)),
            arguments: [
                "tls-1.2-wants-client", "tls-1.3-wants-client", "haproxy-1.2-wants-client", "haproxy-1.3-wants-client",
                "nginx-client-certificate",
            ], [NetworkBackEnd.libwebsockets, .nio].filter { $0.absence == nil })
        func `a missing certificate of the client is the verdict over each back end`(
            name: String, network: NetworkBackEnd
        ) async throws {
            for scheme in ["https", "wss"] {
                let flags = Self.trusting + ["--network", network.rawValue]
                try await Self.expect("clientCertificateWanted", of: name, scheme, flags)
            }
        }

        @Test(.timeLimit(.minutes(2)), arguments: ["tls-good", "tls-expired", "tls-wrongname"])
        func `the names and dates of the chain are shown`(name: String) async throws {
            let (findings, _) = try await Self.examine(name, "https", Self.trusting)
            let own = try #require(findings.certificates?.first)
            #expect(own.issuer != "" && own.from < own.until)
            #expect((own.until < .now) == (name == "tls-expired"))
            let detail = findings.stages.first { $0.stage == "tls" }?.detail ?? ""
            #expect(detail.contains("issued by \(own.issuer), valid from "), "\(detail)")
        }

        private static func expect(
            _ code: String, of name: String, _ scheme: String, _ flags: [String]
        ) async throws {
            let (findings, status) = try await Self.examine(name, scheme, flags)
            #expect(findings.verdict?.code == code, "\(findings)")
            #expect(findings.health == "fault" && status == 1)
            #expect(findings.stages.contains { $0.outcome == "failed" })
            #expect(findings.verdict?.remedy.isEmpty == false)
            #expect(findings.verdict?.cause.contains("secret") == false)
        }

        @Test(
            .timeLimit(.minutes(2)),
            arguments: [
                ("page", "a web page (Welcome)"), ("unsupported", "drop the query"),
                ("basic", #"asks for Basic realm="Staff"; pass the credentials by --header"#),
                ("nginx-get-alone", "a POST by polling was answered with 403"),
                ("nginx-requests-4", "a GET by polling was answered with 503"),
                ("created", "is no Socket.IO server: it answered other text"),
                ("login", "portal.example/login; use the URL that it leads to"), ("login", "if that is a login"),
                ("status-410", "was answered with 410 (Gone);"), ("status-526", "TLS between a proxy and the server"),
                ("nginx-no-agent", "with a header User-Agent with 200; let clients send a User-Agent"),
                ("haproxy-proxy-protocol", "(Invalid method encountered: b'PROXY TCP4"),
                ("page", "location /socket.io/"), ("healthy-websocket", "; use ws:// or wss:// in the URL"),
            ])
        func `the verdict has what the answer tells`(name: String, words: String) async throws {
            let verdict = try #require(try await Self.examine(name, "http", []).0.verdict)
            #expect("\(verdict.cause); \(verdict.remedy)".contains(words), "\(verdict)")
        }

        @Test(
            .timeLimit(.minutes(2)),
            arguments: [
                (
                    "refusing", "http",
                    "name address http origin upgrade namespace messageSize polling switching heartbeat"
                ),
                ("hanging", "ws", "name address upgrade origin heartbeat"),
            ])
        func `every stage has its place, also one that is not reached`(
            name: String, scheme: String, stages: String
        ) async throws {
            let (findings, _) = try await Self.examine(name, scheme, [])
            #expect(findings.stages.map(\.stage).joined(separator: " ") == stages)
            #expect(findings.stages.contains { $0.outcome == "skipped" && $0.detail == "not reached" })
        }

        @Test(.timeLimit(.minutes(2)))
        func `a server of Socket.IO below the path of the URL is told with its flag`() async throws {
            let verdict = try #require(try await Self.examine("below-a-path", "http:/app", []).0.verdict)
            #expect(verdict.remedy.contains("--path /app/socket.io/"), "\(verdict)")
            let (findings, _) = try await Self.examine("below-a-path", "http", ["--path", "/app/socket.io/"])
            #expect(findings.health == "healthy", "\(findings)")
        }

        @Test(.timeLimit(.minutes(2)))
        func `the path of Socket.IO in a URL is told from a namespace`() async throws {
            let (findings, _) = try await Self.examine("healthy", "http:/socket.io/", [])
            #expect(findings.verdict?.remedy.hasPrefix("leave /socket.io/ out of the URL") == true, "\(findings)")
            let (raw, _) = try await Self.examine("healthy", "ws:/socket.io/?EIO=4&transport=websocket", [])
            #expect(raw.verdict?.code == "notWebSocket", "\(raw)")
        }

        @Test(.timeLimit(.minutes(2)))
        func `the reason of a normal close is told`() async throws {
            let (findings, _) = try await Self.examine("closing-1000", "ws", [])
            #expect(findings.verdict?.cause.contains(#"with code 1000 "so it is""#) == true, "\(findings)")
        }

        @Test(.timeLimit(.minutes(2)))
        func `pings that are far apart are a warning`() async throws {
            let (findings, status) = try await Self.examine("rare-pings", "http", ["--timeout", "8"])
            #expect(findings.health == "warning" && status == 0)
            #expect(findings.verdict?.code == "pingsTooRare", "\(findings)")
        }

        @Test(.timeLimit(.minutes(2)))
        func `Ctrl-C ends an examination with what was found until then`() async throws {
            try await Bench.run { bench in
                let port = try await Self.serve("usual-pings", on: bench)
                let doctor = try await bench.tool(["doctor", "http://127.0.0.1:\(port)"])
                try await doctor.output.wait(forLine: "✓ upgrade from polling")
                doctor.interrupt()
                #expect(try await doctor.exit() == 130)
                let last = try await doctor.output.all().last
                #expect(last == "interrupted: no fault was found until then")
            }
        }

        @Test
        func `name and password of a proxy stand before its host`() throws {
            let flags = ["http://server.example", "--proxy", "socks5://ann:p%40ss:1@proxy.example:9"]
            let proxy = try #require(try ProbeTarget.parse(flags).networkProxy)
            #expect(proxy.user == "ann" && proxy.password?.exposed == "p@ss:1")
            #expect(proxy.kind == .socks5 && proxy.host == "proxy.example" && proxy.port == 9)
            let plain = try ProbeTarget.parse(["http://server.example", "--proxy", "proxy.example:9"]).networkProxy
            #expect(plain?.user == nil && plain?.port == 9)
        }

        @Test(
            .timeLimit(.minutes(2)),
            arguments: [
                ("healthy", "http", []), ("websocket-only", "http", []),
                ("refusing", "http", ["--auth", #"{"token":"good"}"#]),
                ("cors", "http", ["--origin", "https://elsewhere.example"]),
                ("healthy-websocket", "ws", ["--idle", "1"]), ("healthy", "http", ["--path", "/socket.io"]),
                ("needs-origin", "ws", cors + ["--idle", "1"]),
                ("subprotocol", "ws", ["--subprotocol", "chat.v2", "--idle", "1"]), ("healthy-nginx", "http", []),
                ("healthy-nginx-two", "http", []), ("healthy-nginx-websocket", "ws", ["--idle", "1"]),
                ("healthy-nginx-tls", "https", trusting), ("healthy-haproxy-two", "http", []),
            ])
        func `a healthy server has no verdict`(name: String, scheme: String, flags: [String]) async throws {
            let (findings, status) = try await Self.examine(name, scheme, flags)
            #expect(findings.verdict == nil, "\(findings)")
            #expect(findings.health == "healthy" && status == 0)
        }

        @Test(.timeLimit(.minutes(2)))
        func `an origin that server and proxy both allow is told as such`() async throws {
            let (findings, _) = try await Self.examine("nginx-double-cors", "http", Self.cors)
            #expect(findings.verdict?.code == "corsMissing", "\(findings)")
            #expect(
                findings.verdict?.cause.contains("the server and a proxy both add the header") == true, "\(findings)")
        }

        @Test(.timeLimit(.minutes(2)), arguments: ["http", "ws"])
        func `the development server has no verdict`(scheme: String) async throws {
            try await Bench.run { bench in
                let server = try await ChatServer.start(on: bench, [], .forgetful)
                let url = await server.url(for: .socketio).replacing("http:", with: "\(scheme):")
                let flags = ["--auth", #"{"name":"ann","rooms":["lobby"]}"#, "--timeout", "5", "--idle", "1"]
                let ended = try await bench.runTool(["doctor", url] + flags)
                #expect(ended.status == 0, "\(ended)")
                #expect(ended.output.last == "healthy: every stage passed", "\(ended)")
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `what cannot be reached is told with cause and remedy, and a mistake in the arguments has status 64`()
            async throws
        {
            try await Bench.run { bench in
                let closed = try await bench.runTool(["doctor", "http://127.0.0.1:1"])
                #expect(closed.status == 1)
                #expect(
                    closed.output.last
                        == "fault: 127.0.0.1:1 is not reached by TCP: 127.0.0.1 refuses the connection; start the server, or "
                        + "correct host and port. [connectionRefused]")
                let unknown = try await bench.runTool(["doctor", "wss://server.invalid"])
                #expect(unknown.status == 1 && unknown.output.last?.contains("[nameNotResolved]") == true)
                #expect(!(closed.output + unknown.output).joined().contains("\u{1B}"))
                for flags in [
                    ["ftp://127.0.0.1"], ["http://127.0.0.1", "--timeout", "0"], ["http://x", "--version", "v2"],
                    ["localhost:3000"], ["ws:/x"], ["http://x", "--path", "io"],
                    ["http://x", "--origin", "https://x/"], ["http://x", "-H", "Upgrade: websocket"],
                ] {
                    let ended = try await bench.runTool(["doctor"] + flags)
                    #expect(ended.status == 64 && !ended.errors.isEmpty, "\(ended)")
                }
            }
        }

        @available(macOS 15, *)
        @Test(.timeLimit(.minutes(1)))
        func `an address that is dead beside one that lives is a warning`() async throws {
            try await Bench.run { bench in
                let script = "\(Place.root)/Tests/ToolTests/Doctor/faults.py"
                let server = try await bench.start(
                    "server", [try Place.python(), script, "healthy-websocket", bench.folder])
                let line = try #require(try await server.output.wait(forLine: "listening ").first)
                let url = try ConnectionURL("ws://two.example:\(line.split(separator: " ").last ?? "")/")
                let resolver = Resolver { _, _ in .success(["::1", "127.0.0.1"]) }
                let loop = NetworkBackEnd.standard.makeLoop(name: "doctor", resolver: resolver)
                defer { loop.shutdown() }
                let dialer = Dialer(
                    url: url, headers: [], tls: .system, proxy: nil, loop: loop, resolver: resolver,
                    patience: .seconds(5))
                let plan = Examination.Plan(
                    target: try ProbeTarget.parse([url.text]), url: url, dialer: dialer, timeout: .seconds(20),
                    idle: .milliseconds(100), origin: nil, messageSize: 1_000)
                let report = await Examination(plan, begin: { _ in }, show: { _ in }).run()
                #expect(report.health == .warning && report.verdict?.code == .deadAddress, "\(report)")
                #expect(report.verdict?.cause.contains("::1") == true)
            }
        }
    }
}
