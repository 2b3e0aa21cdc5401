import Foundation
import LinkspanKit
import LinkspanNetwork
import Testing

// The examples of the guides, word for word. They are compiled, not run: their servers do not exist.

@MainActor
final class StatusModel {
    private(set) var text = ""

    func follow(_ connection: ConnectionHandler) {
        connection.stateChanges.onEach { [weak self] change in
            self?.text = "\(change.to)"
        }
    }
}

/// A namespace for the examples.
private enum Guides {
    struct Line: Codable, Sendable {
        var text: String
    }

    struct Session: Sendable {
        func token() async -> String { "secret" }
    }

    static func show(_ text: String) {}
    static func show(_ line: Line) {}
    static func show(_ members: [String]) {}

    static func errors(_ connection: ConnectionHandler) async {
        do {
            let members = try await connection.request("who", "lobby", timeout: .seconds(5))
                .decode([String].self)
            show(members)
        } catch {
            switch (error.code, error.certainty) {
            case (.timedOut, .notSent): show("The server cannot be reached.")
            case (.timedOut, _): show("The server does not answer.")
            case (.messageTooLarge, _): show("This is too long.")
            default: show(error.message)
            }
        }
        for await change in connection.stateChanges {
            if let close = change.reason.error?.webSocketClose, close.code == 4009 {
                show("Signed in elsewhere: \(close.reason)")
            }
        }
    }

    static func comingFromSocketIOClientSwift(_ session: Session) async throws -> [String] {
        let connection = try ConnectionBuilder("https://chat.example/admin")
            .transport(.socketIO)
            .credentials(
                .provider { _ in try Credentials(auth: ["token": await session.token()]) }
            )
            .connect()

        try connection.on("line", as: Line.self) { line in
            if case .success(let line) = line { show(line) }
        }
        try connection.send("typing", "lobby")
        let members = try await connection.request("who", "lobby", timeout: .seconds(5))
            .decode([String].self)
        return members
    }

    static func comingFromJavaScript() async throws -> Payload {
        let configuration = SocketIOConfiguration {
            $0.path = "/realtime/"
            $0.carriers = .upgrade
        }
        let connection = try ConnectionBuilder("https://chat.example")
            .transport(.socketIO(configuration))
            .options { $0.retry = .backoff(cap: .seconds(5)) }
            .connect()

        let reply = try await connection.request("who", "lobby", timeout: .seconds(5))
        try connection.send("cursor", 10, 20, volatile: true)
        try await connection.deliver("say", Line(text: "hello"))
        return reply
    }

    static func comingFromStarscream() throws {
        let transport = WebSocketConfiguration {
            $0.protocol = .text
            $0.headers = [Credentials.Field("X-Client", "7")]
        }
        let connection = try ConnectionBuilder("wss://feed.example")
            .transport(.webSocket(transport)).connect()
        try connection.on("text", as: String.self) { text in
            if case .success(let text) = text { show(text) }
        }
        try connection.send("text", "subscribe:BTC")
    }

    static func security() throws -> SocketIOTransport {
        let policy = TLSPolicy(
            roots: .file("/etc/ssl/company.pem"),
            pins: [
                try PublicKeyPin("sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="),
                try PublicKeyPin("sha256/BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA="),
            ],
            minimumVersion: .tls13)
        let transport = SocketIOTransport(.init { $0.tls = policy })
        return transport
    }

    static func troubleshooting() throws {
        let connection = try ConnectionBuilder("https://chat.example")
            .transport(.socketIO)
            .connect()
        print(connection.explain())
        print(connection.status.description)
    }
}

@Suite("The guides")
struct GuidesExample {
    private static let sources = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Sources")
        .standardized

    @Test
    func `the page on errors has each code once, and marks the permanent ones`() throws {
        let page = try String(
            contentsOf: Self.sources.appending(path: "Linkspan/Documentation.docc/Errors.md"), encoding: .utf8)
        let source = try String(
            contentsOf: Self.sources.appending(path: "Linkspan/Values/LinkspanError.swift"), encoding: .utf8)
        let codes = source.matches(of: /Self\(rawValue: "(\w+)"\)/).map { String($0.output.1) }.sorted()
        let rows = page.matches(of: /(?m)^\| `(\w+)`( \*\*P\*\*)? \|/)
        #expect(codes.count > 30)
        #expect(rows.map { String($0.output.1) }.sorted() == codes)
        for row in rows {
            let error = LinkspanError(.init(rawValue: String(row.output.1)), "")
            #expect(error.isPermanent == (row.output.2 != nil), "\(row.output.1)")
        }
    }

    @Test
    func `the metrics that the checklist names are reported`() throws {
        let page = try String(
            contentsOf: Self.sources.appending(path: "Linkspan/Documentation.docc/ProductionChecklist.md"),
            encoding: .utf8)
        let plugins = Self.sources.deletingLastPathComponent().appending(path: "Plugins")
        let reporters = try [
            "Services/LinkspanTelemetry/Metrics/MetricsBook.swift",
            "Stores/LinkspanOutbox/OutboxMeters.swift",
        ].map { try String(contentsOf: plugins.appending(path: $0), encoding: .utf8) }.joined()
        let names = page.matches(of: /`linkspan_(\w+)`/).map { String($0.output.1) }
        #expect(names.count > 6)
        for name in names {
            let own = name.hasPrefix("outbox_") ? String(name.dropFirst("outbox_".count)) : name
            #expect(reporters.contains("\(own)\""), "\(name)")
        }
    }

    @Test
    func `the pins that the page on security shows are well-formed`() throws { _ = try Guides.security() }
}
