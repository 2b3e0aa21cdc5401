internal import Foundation
internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanSocketIO
internal import SocketIO
internal import Starscream
internal import TestSupport
internal import TestedBackEnds
internal import Testing

/// The options of a manager, shown by what the server gets.
@Suite(.overSomeBackEnd, .timeLimit(.minutes(3)))
struct OptionTests {
    @Test
    func `query, cookies, header fields and path reach the server`() async throws {
        try await PythonServer.useOldPrograms(["--path", "realtime"]) { server in
            let cookies = try [("theme", "dark"), ("lang", "en")].map { name, value in
                try #require(
                    HTTPCookie(properties: [.name: name, .value: value, .domain: "127.0.0.1", .path: "/"]))
            }
            let requests = Journal<[String: String]>("requests")
            let manager = SocketManager(
                socketURL: server.url,
                config: Carrier.websocket.options + [
                    .connectParams(["b": 2, "a": "x y", "sid": "none"]), .cookies(cookies),
                    .extraHeaders(["X-Old": "yes"]), .path("realtime/"),
                ])
            manager.defaultSocket.connect()
            manager.defaultSocket.emitWithAck("request").timingOut(after: 60) { data in
                requests.append((data[0] as? [String: Any])?.compactMapValues { $0 as? String } ?? [:])
            }
            let request = try await requests.first(1)[0]
            let query = Set((request["query"] ?? "").split(separator: "&"))
            #expect(query.isSuperset(of: ["a=x y", "b=2"]))
            #expect(!query.contains("sid=none"))
            #expect(request["cookie"] == "theme=dark; lang=en")
            #expect(request["header"] == "yes")
            #expect(request["path"] == "/realtime/")
        }
    }

    @Test
    func `version two speaks to servers of 2.x`() async throws {
        let server = PythonServer("legacy_server.py", environment: ".venv-legacy")
        try await server.use {
            let texts = Journal<String>("texts")
            let manager = SocketManager(socketURL: server.url, config: Carrier.websocket.options + [.version(.two)])
            #expect(manager.version == .two)
            manager.defaultSocket.on("hello") { data, _ in texts.append(data[0] as? String ?? "?") }
            // Such a server has no place for a payload.
            manager.defaultSocket.connect(withPayload: ["token": "fresh"])
            manager.defaultSocket.emitWithAck("req", "é😀").timingOut(after: 60) { data in
                texts.append(data[0] as? String ?? "?")
            }
            let found = try await texts.first(2)
            #expect(Set(found) == ["/", "é😀"])
        }
    }

    @Test
    func `servers are verified, by the rules of security`() async throws {
        let certificates = try await Certificates()
        let server = PythonServer("old_programs.py", certificates: certificates)
        try await server.use {
            let policy = TLSPolicy(roots: .file(certificates.authority))
            // The certificate decides, whether the URL or the option asks for TLS.
            for (scheme, isSecure) in [("https", false), ("http", true), ("HTTPS", false), ("Wss", false)] {
                let outcome = try await Self.outcome(
                    server.url(scheme), [.security(FoundationSecurity(policy: policy)), .secure(isSecure)])
                #expect(outcome == "connected")
            }
            for option in [SocketIOClientOption.selfSigned(true), .selfSigned(false)] {
                let outcome = try await Self.outcome(server.url("https"), [option])
                #expect(outcome.contains("certificate"), "\(outcome)")
            }
        }
    }

    /// Connects, and returns `connected` or the first error.
    private static func outcome(_ url: URL, _ options: SocketIOClientConfiguration) async throws -> String {
        let outcomes = Journal<String>("outcomes")
        let manager = SocketManager(socketURL: url, config: Carrier.websocket.options + options)
        manager.defaultSocket.on(clientEvent: .connect) { _, _ in outcomes.append("connected") }
        manager.defaultSocket.on(clientEvent: .error) { data, _ in outcomes.append(data[0] as? String ?? "?") }
        manager.connect()
        return try await outcomes.first(1)[0]
    }

    /// A delegate that would accept every server.
    private final class Delegate: NSObject, URLSessionDelegate {}

    @Test(arguments: ["enableSOCKSProxy", "sessionDelegate"])
    func `options without a safe counterpart refuse to connect`(name: String) async throws {
        let option =
            name == "enableSOCKSProxy" ? SocketIOClientOption.enableSOCKSProxy(true) : .sessionDelegate(Delegate())
        let url = try #require(URL(string: "https://127.0.0.1:9"))
        let outcome = try await Self.outcome(url, [option])
        #expect(outcome.contains(name), "\(outcome)")
    }

    @Test
    func `a proxy that linkspan names takes the place of the system's`() async throws {
        let url = try #require(URL(string: "http://127.0.0.1:9"))
        let proxy = NetworkProxy(.socks5, host: "127.0.0.1", port: 9)
        let outcome = try await Self.outcome(url, [.enableSOCKSProxy(true), .linkspan { $0.proxy = proxy }])
        #expect(!outcome.contains("enableSOCKSProxy"), "\(outcome)")
    }

    @Test
    func `options by their names are those of the cases, and others are left out`() throws {
        let url = try #require(URL(string: "http://127.0.0.1:9"))
        let logger = Lines()
        let values: [String: Any] = [
            "compress": true, "connectParams": ["a": 1], "cookies": [HTTPCookie](), "extraHeaders": ["a": "b"],
            "forceNew": true, "forcePolling": false, "forceWebsockets": true, "enableSOCKSProxy": false,
            "handleQueue": DispatchQueue.main, "log": false, "logger": logger, "path": "/p/", "reconnects": false,
            "reconnectAttempts": 3, "reconnectWait": 4, "reconnectWaitMax": 5, "randomizationFactor": 0.25,
            "secure": true, "security": FoundationSecurity(), "selfSigned": false, "sessionDelegate": Delegate(),
            "version": SocketIOVersion.two, "unknown": 1,
        ]
        let former = DefaultSocketLogger.Logger
        defer { DefaultSocketLogger.Logger = former }
        let manager = SocketManager(socketURL: url, config: values)
        #expect(Set(manager.config.map(\.description)) == Set(values.keys).subtracting(["unknown"]))
        #expect(!manager.reconnects && manager.forceNew && manager.version == .two)
        #expect(manager.reconnectWait == 4 && manager.reconnectWaitMax == 5 && manager.randomizationFactor == 0.25)
        #expect(DefaultSocketLogger.Logger === logger)
        // As dictionaries of Objective-C had it.
        let versions = [2, 3, 9].map { SocketManager(socketURL: url, config: ["version": $0]).version }
        #expect(versions == [.two, .three, .three])
        let wrong = values.mapValues { _ in [1: 2] }
        #expect(SocketManager(socketURL: url, config: wrong).config.isEmpty)
    }

    @Test
    func `an option takes the place of its like, or does not`() {
        var config: SocketIOClientConfiguration = [.path("/a/"), .log(false)]
        config.insert(.path("/b/"), replacing: false)
        config.insert(.log(true))
        config.insert(.compress)
        #expect(config.count == 3)
        guard case .path("/a/") = config[0], case .log(true) = config[1], case .compress = config[2] else {
            Issue.record("\(config)")
            return
        }
    }

    @Test
    func `what the options do not say of reconnecting stays`() throws {
        let url = try #require(URL(string: "http://127.0.0.1:9"))
        let manager = SocketManager(socketURL: url)
        #expect(manager.handleQueue.label == DispatchQueue.main.label)
        #expect(manager.reconnects && manager.reconnectWait == 10 && manager.reconnectWaitMax == 30)
        #expect(manager.randomizationFactor == 0.5 && !manager.dropsOfflineEmits && !manager.forceNew)
        (manager.reconnectWait, manager.dropsOfflineEmits, manager.forceNew) = (3, true, true)
        manager.config = [.compress]
        #expect(manager.reconnectWait == 3 && manager.dropsOfflineEmits && manager.forceNew)
        #expect(manager.config == [.compress])
    }

    /// A logger of an app.
    private final class Lines: SocketLogger {
        var log = true
        let lines = Journal<String>("lines")

        func log(_ message: @autoclosure () -> String, type: String) { self.lines.append("\(type): \(message())") }
    }

    @Test
    func `a logger of an app gets the lines, as long as it logs`() throws {
        let url = try #require(URL(string: "http://127.0.0.1:9"))
        let (former, logger) = (DefaultSocketLogger.Logger, Lines())
        defer { DefaultSocketLogger.Logger = former }
        let manager = SocketManager(
            socketURL: url, config: [.logger(logger), .handleQueue(DispatchQueue(label: "handlers"))])
        let socket = manager.socket(forNamespace: "admin")
        socket.handleEvent("one", data: [], isInternalMessage: true)
        #expect(logger.lines.entries == ["SocketIOClient{/admin}: handles one"])
        logger.log = false
        socket.handleEvent("two", data: [], isInternalMessage: true)
        #expect(logger.lines.entries.count == 1)
        // Whichever comes first.
        manager.setConfigs([.log(true), .logger(logger)])
        #expect(logger.log)
        DefaultSocketLogger.Logger = former
        #expect(!former.log)
        socket.handleEvent("three", data: [], isInternalMessage: true)
        #expect(logger.lines.entries.count == 1)
    }
}
