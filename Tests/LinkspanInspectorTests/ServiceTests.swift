internal import TestSupport
internal import Foundation
internal import Linkspan
internal import LinkspanDevServer
internal import LinkspanInMemory
internal import LinkspanLifecycle
internal import LinkspanMessaging
internal import LinkspanWebSocket
internal import ServiceFixtures
internal import Testing

@testable internal import LinkspanInspector

/// A service whose handler throws.
private struct FailingService: ConnectionObserving {
    let name: ServiceName = "failing"

    func on(_ event: Stamped<ConnectionEvent>, _ scope: ServiceScope) async throws {
        throw LinkspanError(.wrongState, "as asked")
    }
}

@Suite(.timeLimit(.minutes(2)))
struct ServiceTests {
    @Test func `the page is answered once for each URL, and another URL is announced when somebody asks`() async throws
    {
        try await InspectedApp.run { app in
            let target = "/?token=\(app.token)"
            let answer = try app.get(target)
            #expect(answer.hasPrefix("HTTP/1.1 200 OK"))
            #expect(answer.contains("Content-Security-Policy: default-src 'none'"))
            #expect(answer.contains("<title>Linkspan inspector</title>"))
            #expect(try app.get(target).hasPrefix("HTTP/1.1 403 "))
            try await app.urls.entries { $0.count == 2 }
            #expect(try app.get("/?token=\(app.token)").hasPrefix("HTTP/1.1 200 OK"))
        }
    }

    @Test(arguments: ["/", "/snapshot", "/report", "/feed", "/favicon.ico", "/../etc/passwd"])
    func `a refusal tells nothing of the app`(target: String) async throws {
        try await InspectedApp.run { app in
            let foreign = [
                try app.get(target), try app.get("\(target)?token=\(app.token)", host: "evil.example:\(app.port)"),
                try app.get("\(target)?token=\(app.token)", ["Origin: http://evil.example"]),
                try app.get("\(target)?token=\(app.token)", ["Sec-Fetch-Site: cross-site"]),
            ]
            for answer in foreign {
                #expect(answer.hasPrefix("HTTP/1.1 403 "), "\(answer)")
                for word in ["ws://", "websocket", "services", app.token] { #expect(!answer.contains(word)) }
                #expect(!answer.contains("Access-Control-Allow-Origin"))
            }
            #expect(app.urls.entries.count == 1)
        }
    }

    @Test func `a snapshot has connections, services, configuration and totals`() async throws {
        let settings = [InspectedSetting(path: "linkspan.connection.timeout", value: "9", origin: "a.yaml:3")]
        try await InspectedApp.run(settings: settings) { app in
            for _ in 0..<5 { _ = try await app.connection.request("echo", "text") }
            let feed = try await app.feed()
            try feed.next { ($0["totals"]?["sent"]?.int ?? 0) >= 5 && ($0["totals"]?["answered"]?.int ?? 0) >= 5 }
            let text = try await app.admitted("/snapshot").split(separator: "\r\n\r\n", maxSplits: 1)[1]
            let snapshot = try #require(try Payload(checking: Array(text.utf8)[...])[0])
            let row = try #require(snapshot["connections"]?.elements?.first)
            #expect(row["state"]?.string == "connected")
            #expect(row["transport"]?.string == "websocket")
            #expect(row["holders"]?.int == 1)
            #expect(row["why"]?.string?.contains("is up") == true)
            let paths = (snapshot["services"]?.elements ?? []).compactMap { $0["path"]?.string }
            #expect(paths == ["services.connections", "services.inspector"])
            #expect(snapshot["settings"]?.elements?.first?["origin"]?.string == "a.yaml:3")
            #expect(snapshot["totals"]?["received"]?.int == 5)
        }
    }

    @Test func `the report is the journal with the state of each connection`() async throws {
        try await InspectedApp.run { app in
            // Events come to the service one after another, and into the journal before they come to a page.
            try await app.feed().next { batch in
                (batch["events"]?.elements ?? []).contains { $0["kind"]?.string == "connected" }
            }
            for _ in 0..<3 { _ = try await app.connection.request("echo", "text") }
            try await app.feed().next { $0["totals"]?["answered"]?.int == 3 && $0["totals"]?["received"]?.int == 3 }
            let report = try await app.admitted("/report")
            #expect(report.contains("attachment; filename=\"linkspan-report.txt\""))
            #expect(report.contains("entries, 0 older ones dropped"))
            #expect(report.contains("messages: 3 sent, 3 acknowledged, 3 received\n"))
            #expect(report.contains("connecting attempt=1"))
            #expect(report.contains("State: connected"))
        }
    }

    @Test func `an outage is seen with its reason, its countdown and the return`() async throws {
        try await InspectedApp.run { app in
            let feed = try await app.feed()
            try feed.connection { $0["state"]?.string == "connected" }
            await app.server.stop()
            let down = try feed.connection { $0["nextAttempt"] != nil }
            #expect(down["state"]?.string == "reconnecting")
            #expect(down["why"]?.string?.contains("The reason:") == true)
            try feed.next { batch in
                (batch["points"]?.elements ?? []).contains {
                    $0["connected"]?.int == 0 && $0["roundTrip"] == nil
                }
            }
            try await app.server.start()
            try feed.connection { $0["state"]?.string == "connected" }
            let kinds = ["created", "connecting", "connected", "disconnected", "reconnecting"]
            let hasAll = { kinds.allSatisfy { feed.transcript.contains("\"kind\":\"\($0)\"") } }
            while !hasAll() { try feed.next { $0["events"] != nil } }
        }
    }

    @Test func `frames have names, sizes and the time to the reply, and no payload`() async throws {
        try await InspectedApp.run { app in
            let feed = try await app.feed()
            try feed.connection { $0["state"]?.string == "connected" }
            var kinds: Set<String> = []
            // The sample is taken between two looks, so the first requests may come before there is room.
            while kinds != ["sent", "received", "answered"] {
                _ = try await app.connection.request("echo", "canary-payload")
                let batch = try feed.next { $0["frames"] != nil }
                for frame in batch["frames"]?.elements ?? [] {
                    #expect(frame["event"]?.string == "echo")
                    #expect(frame["payload"] == nil)
                    if frame["kind"]?.string == "answered" { #expect(frame["roundTrip"] != nil) }
                    if let kind = frame["kind"]?.string { kinds.insert(kind) }
                }
            }
        }
    }

    @Test func `payloads are shown when configuration asks for them, without what sounds like a credential`()
        async throws
    {
        try await InspectedApp.run(.init(showsPayloads: true)) { app in
            let feed = try await app.feed()
            try feed.connection { $0["state"]?.string == "connected" }
            var excerpt: String?
            while excerpt == nil {
                _ = try await app.connection.request("echo", ["text": "hello", "token": "canary"])
                let batch = try feed.next { $0["frames"] != nil }
                excerpt = (batch["frames"]?.elements ?? []).compactMap { $0["payload"]?.string }.first
            }
            #expect(excerpt?.contains("hello") == true)
            #expect(excerpt?.contains("canary") == false)
        }
    }

    @Test func `faults are refused unless configuration allows them`() async throws {
        try await InspectedApp.run { app in
            let feed = try await app.feed()
            let row = try feed.connection { $0["state"]?.string == "connected" }
            feed.send(#"{"do":"drop","connection":\#(row["id"]?.int ?? 0)}"#)
            let notice = try feed.next { $0["notice"] != nil }
            #expect(notice["notice"]?["error"]?.bool == true)
            #expect(app.connection.state == .connected)
        }
    }

    @Test func `a link is dropped on request, and comes back`() async throws {
        try await InspectedApp.run(.init(allowsFaults: true)) { app in
            let feed = try await app.feed()
            let row = try feed.connection { $0["state"]?.string == "connected" }
            feed.send(#"{"do":"drop","connection":\#(row["id"]?.int ?? 0)}"#)
            try feed.next { batch in
                (batch["events"]?.elements ?? []).contains {
                    $0["text"]?.string?.contains("the inspector dropped the link") == true
                }
            }
            try feed.connection { $0["state"]?.string == "connected" && $0["error"] == nil }
        }
    }

    @Test func `credentials are refused once on request, and those after them are accepted`() async throws {
        let reasons = Journal<CredentialRequest.Reason>("requests for credentials")
        let source = CredentialSource.provider { request in
            reasons.append(request.reason)
            return try Credentials(auth: ["name": "ann"])
        }
        try await InspectedApp.run(.init(allowsFaults: true), credentials: source) { app in
            let feed = try await app.feed()
            let row = try feed.connection { $0["state"]?.string == "connected" }
            feed.send(#"{"do":"refuse","connection":\#(row["id"]?.int ?? 0)}"#)
            try await reasons.entries { $0.contains(.refused) }
            try await app.connection.connected()
            try feed.connection { $0["state"]?.string == "connected" && ($0["credentials"]?["obtained"] != nil) }
        }
    }

    @Test func `reading is paused on request`() async throws {
        try await InspectedApp.run(.init(allowsFaults: true)) { app in
            let feed = try await app.feed()
            let id = try feed.connection { $0["state"]?.string == "connected" }["id"]?.int ?? 0
            feed.send(#"{"do":"pause","connection":\#(id)}"#)
            try feed.connection { $0["paused"]?.bool == true }
            feed.send(#"{"do":"resume","connection":\#(id)}"#)
            try feed.connection { $0["paused"]?.bool == false }
            _ = try await app.connection.request("echo", "text")
        }
    }

    @Test func `the network path is lost and restored on request`() async throws {
        try await InspectedApp.run(.init(allowsFaults: true)) { app in
            let feed = try await app.feed()
            try feed.connection { $0["state"]?.string == "connected" }
            feed.send(#"{"do":"pathLost"}"#)
            try feed.connection { $0["state"]?.string == "reconnecting" && $0["error"]?.string == "pathLost" }
            feed.send(#"{"do":"pathBack"}"#)
            try feed.connection { $0["state"]?.string == "connected" }
        }
    }

    @Test func `the connection moves to another transport on request`() async throws {
        let hub = InMemoryHub()
        let memory = TransportAlternative(
            name: "memory", url: "memory://other", transport: InMemoryTransport(hub: hub))
        let server = DevServer(hub: hub)
        try await server.start()
        let socket = TransportAlternative(name: "websocket", url: server.webSocketURL, transport: .webSocket)
        try await InspectedApp.run(.init(allowsFaults: true), alternatives: [memory, socket]) { app in
            let feed = try await app.feed()
            try feed.connection { $0["state"]?.string == "connected" && $0["transport"]?.string == "websocket" }
            feed.send(#"{"do":"move","transport":"memory"}"#)
            try feed.connection { $0["state"]?.string == "connected" && $0["transport"]?.string == "memory" }
            // From there it may go back.
            feed.send(#"{"do":"move","transport":"websocket"}"#)
            try feed.connection { $0["state"]?.string == "connected" && $0["transport"]?.string == "websocket" }
            feed.send(#"{"do":"move","transport":"pigeon"}"#)
            let notice = try feed.next { $0["notice"] != nil }
            #expect(notice["notice"]?["text"]?.string?.contains("pigeon") == true)
        }
        await server.stop()
    }

    @Test func `a slow service is shown with its lost events`() async throws {
        try await InspectedApp.run(services: [FailingService()]) { app in
            try await app.feed().next { batch in
                (batch["services"]?.elements ?? []).contains {
                    $0["path"]?.string == "services.failing" && ($0["faults"]?.int ?? 0) > 0
                }
            }
        }
    }

    @Test(arguments: ["not json", "[1]", #"{"do":"explode"}"#])
    func `a page that sends no command is closed`(text: String) async throws {
        try await InspectedApp.run { app in
            let feed = try await app.feed()
            feed.send(text)
            #expect(feed.isClosed)
            #expect(try app.get("/").hasPrefix("HTTP/1.1 403 "))
        }
    }

    @Test(arguments: [
        "GET /%00 HTTP/1.1\r\n\r\n", "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9999999\r\n\r\n",
        "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "GET / HTTP/9\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", String(repeating: "A", count: 20_000),
    ])
    func `hostile requests are refused, and the next one is answered`(text: String) async throws {
        try await InspectedApp.run { app in
            let client = try RawClient(port: app.port)
            client.write(text)
            let answer = String(decoding: try #require(client.readToEnd()), as: UTF8.self)
            #expect(answer.hasPrefix("HTTP/1.1 4") || answer.hasPrefix("HTTP/1.1 5"), "\(answer)")
            #expect(try await app.admitted("/snapshot").hasPrefix("HTTP/1.1 200 "))
        }
    }

    @Test func `more connections than the limit are dropped, and the service goes on`() async throws {
        try await InspectedApp.run { app in
            var clients: [RawClient] = []
            for _ in 0..<100 { clients.append(try RawClient(port: app.port)) }
            clients = []
            #expect(try await app.admitted("/snapshot").hasPrefix("HTTP/1.1 200 "))
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test func `configuration names port, faults, payloads and a token`() throws {
        let section = "enabled: [inspector]\ninspector: {port: 8099, faults: true, payloads: true}"
        let made = try services(.inspector, section)
        #expect(made.count == 1)
        #expect(made.first is InspectorService)
        let options = InspectorService.Options(
            OptionValues(["port": 8099, "faults": true, "payloads": true, "token": "a token of 16 by"]))
        #expect(options == .init(port: 8099, allowsFaults: true, showsPayloads: true, token: "a token of 16 by"))
        #expect(InspectorService.Options(OptionValues()) == .init())
    }
}
