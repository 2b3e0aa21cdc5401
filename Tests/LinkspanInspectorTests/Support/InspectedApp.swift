internal import TestSupport
internal import Linkspan
internal import LinkspanDevServer
internal import LinkspanInMemory
internal import LinkspanLifecycle
internal import LinkspanMessaging
internal import LinkspanWebSocket
internal import Testing

@testable internal import LinkspanInspector

/// An app with an inspector, connected to a server of its own, for as long as a test takes.
final class InspectedApp: Sendable {
    let server: DevServer
    let hub: InMemoryHub
    let messaging: Messaging
    let connection: ConnectionHandler
    private let inspector: InspectorService
    /// The URLs that the inspector has announced.
    let urls: Journal<String>
    /// The port of the inspector.
    let port: Int

    private init(
        server: DevServer, hub: InMemoryHub, messaging: Messaging, connection: ConnectionHandler,
        inspector: InspectorService, urls: Journal<String>, port: Int
    ) {
        (self.server, self.hub, self.messaging) = (server, hub, messaging)
        (self.connection, self.inspector, self.urls, self.port) = (connection, inspector, urls, port)
    }

    static func run(
        _ options: InspectorService.Options = .init(), credentials: CredentialSource = .none, path: String = "",
        alternatives: [TransportAlternative] = [], settings: [InspectedSetting] = [],
        services: [any LifecycleService] = [], connections: ConnectionManager.Options = .init(),
        _ body: (InspectedApp) async throws -> Void
    ) async throws {
        let hub = InMemoryHub()
        hub.onConnect { peer in
            peer.onOther { message in
                hub.emit(message.event, message.payload)
                message.reply(.empty)
            }
        }
        let server = DevServer(hub: hub)
        try await server.start()
        let urls = Journal<String>("URL of the inspector")
        let inspector = InspectorService(options: options) { urls.append($0) }
        var plan = MessagingPlan(
            url: server.webSocketURL + path, transport: .webSocket, credentials: credentials,
            services: [inspector] + services)
        plan.alternatives = alternatives
        plan.settings = settings
        plan.options.retry = .backoff(
            firstSpread: .milliseconds(20), initial: .milliseconds(50), earlyCap: .milliseconds(100),
            cap: .milliseconds(100))
        let messaging = try await Messaging.start(plan, connections: connections)
        let connection = try await messaging.connect()
        let url = try #require(try await urls.entries { !$0.isEmpty }.first)
        let port = try #require(Int(url.split(separator: ":")[2].prefix { $0 != "/" }))
        let app = InspectedApp(
            server: server, hub: hub, messaging: messaging, connection: connection, inspector: inspector, urls: urls,
            port: port)
        let outcome: Result<Void, any Error>
        do {
            try await connection.connected()
            outcome = .success(try await body(app))
        } catch {
            outcome = .failure(error)
        }
        await messaging.stop()
        await server.stop()
        try outcome.get()
    }

    /// The token of the URL that was announced last.
    var token: String { Self.token(of: self.urls.entries.last) }

    private static func token(of url: String?) -> String { String(url?.split(separator: "=").last ?? "") }

    /// The whole answer to a GET request.
    func get(_ target: String, host: String? = nil, _ fields: [String] = []) throws -> String {
        let client = try RawClient(port: self.port)
        let lines = ["GET \(target) HTTP/1.1", "Host: \(host ?? "127.0.0.1:\(self.port)")"] + fields + ["", ""]
        client.write(lines.joined(separator: "\r\n"))
        return String(decoding: try #require(client.readToEnd()), as: UTF8.self)
    }

    /// The answer to a GET request of somebody who has the token of the moment.
    func admitted(_ path: String) async throws -> String {
        try self.get("\(path)?token=\(Self.token(of: await self.inspector.url))")
    }

    /// Opens the live feed.
    func feed() async throws -> Feed {
        let socket = try RawWebSocket(
            port: self.port, "/feed?token=\(Self.token(of: await self.inspector.url))",
            host: "127.0.0.1:\(self.port)", fields: ["Sec-WebSocket-Protocol: linkspan-inspector"])
        try #require(socket.isOpen)
        return Feed(socket)
    }
}

/// The live feed, as a page gets it.
final class Feed {
    private let socket: RawWebSocket
    /// All that has come so far, as it came.
    private(set) var transcript = ""

    init(_ socket: RawWebSocket) { self.socket = socket }

    func send(_ text: String) { self.socket.send(text) }

    /// Reads batches until one is as wanted.
    @discardableResult
    func next(where isWanted: (PayloadValue) -> Bool) throws -> PayloadValue {
        for _ in 0..<600 {
            let text = try self.socket.text()
            self.transcript += text
            let object = try #require(try Payload(checking: Array(text.utf8)[...])[0])
            if isWanted(object) { return object }
        }
        throw NotSeen()
    }

    /// Reads until a row of a connection is as wanted.
    @discardableResult
    func connection(where isWanted: (PayloadValue) -> Bool) throws -> PayloadValue {
        var found: PayloadValue?
        try self.next { batch in
            found = (batch["connections"]?.elements ?? []).first(where: isWanted)
            return found != nil
        }
        return try #require(found)
    }

    var isClosed: Bool { self.socket.isClosed() }

    struct NotSeen: Error {}
}
