internal import Foundation
internal import Linkspan
internal import LinkspanConfiguration
internal import LinkspanDevServer
internal import LinkspanLifecycle
internal import LinkspanMessaging
internal import LinkspanWebSocket
internal import Testing

@testable internal import LinkspanInspector

/// A service whose handler throws a secret.
private struct TalkativeService: ConnectionObserving {
    let name: ServiceName = "talkative"
    let secret: String

    func on(_ event: Stamped<ConnectionEvent>, _ scope: ServiceScope) async throws {
        throw LinkspanError(.wrongState, "the password is \(self.secret)")
    }
}

/// A secret is put wherever an app may have one, and looked for in all that the inspector tells.
@Suite(.timeLimit(.minutes(2)))
struct SecrecyTests {
    private let canary = "canary-\(UUID().uuidString)"

    private func credentials() throws -> Credentials {
        var credentials = try Credentials(auth: ["token": self.canary])
        credentials.headers = [.init("Authorization", Secret("Bearer \(self.canary)"))]
        credentials.query = [.init("key", Secret(self.canary))]
        return credentials
    }

    /// What a file makes of options that are secret, and of a URL with a query.
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    private func settings() throws -> [InspectedSetting] {
        var catalog = Catalog()
        catalog.add(.webSocket)
        catalog.add(.inspector)
        let lines = [
            "linkspan:", "  transport:", "    adapter: websocket",
            "    websocket: {url: 'ws://127.0.0.1:1/?k=\(self.canary)'}",
            "  services: {enabled: [inspector]}",
        ]
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).yaml")
        try Data(lines.joined(separator: "\n").utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        return try ConfigurationLoader(catalog: catalog)
            .load(file: file.path, environment: ["LINKSPAN_SERVICES_INSPECTOR_TOKEN": self.canary]).plan.settings
    }

    /// All that the inspector tells: what the feed has told and goes on to tell, and the answer to each request.
    private func output(of app: InspectedApp, _ feed: Feed) async throws -> String {
        feed.send(#"{"do":"drop","connection":1}"#)
        feed.send(#"{"do":"move","transport":"\#(self.canary.prefix(3))"}"#)
        try feed.next { $0["notice"] != nil }
        for _ in 0..<5 { try feed.next { $0["connections"] != nil } }
        var text = feed.transcript
        for path in ["/", "/snapshot", "/report"] { text += try await app.admitted(path) }
        for path in ["/", "/snapshot", "/report", "/feed", "/other"] {
            text += try app.get(path) + app.get(path, ["Authorization: Bearer \(self.canary)"])
        }
        return text
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test(arguments: [false, true])
    func `no secret is on the page, in the feed, a snapshot or the report`(showsPayloads: Bool) async throws {
        let settings = try self.settings()
        try #require(settings.contains { $0.value == "(secret)" })
        try await InspectedApp.run(
            .init(allowsFaults: true, showsPayloads: showsPayloads, token: self.canary),
            credentials: .fixed(try self.credentials()), path: "?key=\(self.canary)", settings: settings,
            services: [TalkativeService(secret: self.canary)]
        ) { app in
            let feed = try await app.feed()
            for _ in 0..<20 { _ = try await app.connection.request("echo", ["secret": self.canary]) }
            try feed.next { ($0["totals"]?["answered"]?.int ?? 0) >= 20 }
            try feed.next { batch in
                (batch["services"]?.elements ?? []).contains {
                    $0["path"]?.string == "services.talkative" && ($0["faults"]?.int ?? 0) > 0
                }
            }
            await app.server.stop()
            try feed.connection { $0["nextAttempt"] != nil }
            let text = try await self.output(of: app, feed)
            for word in ["connection", "handlerFailed", "\"answered\":20", "(secret)", "State: "] {
                #expect(text.contains(word), "\(word)")
            }
            #expect(!text.contains(self.canary))
        }
    }

    @Test func `a server that repeats the credentials in its refusal has them shown nowhere`() async throws {
        try await InspectedApp.run(credentials: .fixed(try self.credentials())) { app in
            let feed = try await app.feed()
            try feed.connection { $0["state"]?.string == "connected" }
            app.server.refuseCredentials(message: "no token \(self.canary)")
            app.server.drop()
            try feed.connection { $0["error"]?.string == "credentialsRefused" }
            let text = try await self.output(of: app, feed)
            #expect(text.contains("no token <redacted>"))
            #expect(!text.contains(self.canary))
        }
    }
}
