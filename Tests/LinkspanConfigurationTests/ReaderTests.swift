internal import Linkspan
internal import LinkspanConfiguration
internal import LinkspanMessaging
internal import LinkspanRuntime
internal import Testing

@Suite("A reader of the app's own")
struct ReaderTests {
    /// A reader over a dictionary, which notes the keys that it is asked for.
    private final class Reader: ConfigurationReading {
        let name = "app.json"
        let texts: [String: String]
        let lists: [String: [String]]
        private let asked = Lock<Set<String>>([])

        init(_ texts: [String: String], lists: [String: [String]] = [:]) {
            (self.texts, self.lists) = (texts, lists)
        }

        var keys: Set<String> { self.asked.withLock { $0 } }

        func text(_ key: String) -> String? {
            self.asked.withLock { _ = $0.insert(key) }
            return self.texts[key]
        }

        func list(_ key: String) -> [String]? { self.lists[key] }
    }

    /// One that has texts alone.
    private struct Texts: ConfigurationReading {
        let name = "settings"
        let texts: [String: String]

        func text(_ key: String) -> String? { self.texts[key] }
    }

    private static let texts = [
        "linkspan.transport.adapter": "socketio",
        "linkspan.transport.socketio.url": "http://reader.example",
        "linkspan.transport.socketio.path": "/reader/",
        "linkspan.connection.openDeadline": "7",
        "linkspan.services.logging.level": "debug",
    ]
    private static let lists = [
        "linkspan.services.enabled": ["logging", "presence"],
        "linkspan.services.logging.families": ["connections", "messages"],
    ]

    private func load(
        _ reader: any ConfigurationReading, file: String? = nil, environment: [String: String] = [:],
        arguments: [String] = [], defaults: [Override] = []
    ) throws -> LoadedPlan {
        try withDirectory { files in
            let path = try file.map { try files.write("chat.yaml", $0) }
            return try ConfigurationLoader(catalog: .sample()).load(
                ConfigurationSources(
                    file: path, environment: environment, arguments: arguments, reader: reader, defaults: defaults))
        }
    }

    private func path(_ plan: LoadedPlan) -> String? { (plan.plan.transport as? OptionTransport)?.values["path"] }

    @Test
    func `gives transport, options and services, with the options of each`() throws {
        let plan = try self.load(Reader(Self.texts, lists: Self.lists))
        #expect(plan.adapter == "socketio")
        #expect(plan.plan.url == "http://reader.example")
        #expect(self.path(plan) == "/reader/")
        #expect(plan.plan.options.openDeadline == .seconds(7))
        #expect(plan.services == ["logging", "presence"])
        let logging = try #require(plan.plan.services.first?.service as? OptionService)
        #expect(logging.values["level"] == "debug")
        #expect(logging.values["families"] == ["connections", "messages"])
        #expect(plan.explain("services.logging.level")?.origin == "app.json")
        #expect(plan.explain("services.enabled")?.origin == "app.json")
    }

    @Test
    func `without lists has them as texts with commas`() throws {
        var texts = Self.texts
        for (key, items) in Self.lists { texts[key] = items.joined(separator: ", ") }
        let plan = try self.load(Texts(texts: texts))
        #expect(plan.services == ["logging", "presence"])
        let logging = try #require(plan.plan.services.first?.service as? OptionService)
        #expect(logging.values["families"] == ["connections", "messages"])
    }

    @Test
    func `is weaker than a file and all that is stronger than one, and stronger than the app's defaults`() throws {
        let reader = Reader(Self.texts, lists: Self.lists)
        let defaults = [Override(path: "transport.socketio.path", value: "/default/", origin: "default")]
        #expect(self.path(try self.load(reader, defaults: defaults)) == "/reader/")
        let file = "linkspan: { transport: { socketio: { path: /file/ } }, services: { enabled: [presence] } }"
        let plan = try self.load(reader, file: file, defaults: defaults)
        #expect(self.path(plan) == "/file/")
        #expect(plan.services == ["presence"])
        #expect(plan.explain("transport.socketio.path")?.hidden.map(\.value) == ["/reader/", "/default/"])
        let variables = ["LINKSPAN_TRANSPORT_SOCKETIO_PATH": "/environment/"]
        #expect(self.path(try self.load(reader, environment: variables)) == "/environment/")
        let arguments = ["--linkspan-transport-socketio-path=/arguments/"]
        #expect(self.path(try self.load(reader, environment: variables, arguments: arguments)) == "/arguments/")
    }

    @Test
    func `is asked for the keys that there are, and for no other`() throws {
        let reader = Reader(Self.texts.merging(["linkspan.transport.sokcetio.path": "/x/"]) { one, _ in one })
        _ = try self.load(reader)
        #expect(reader.keys.isSuperset(of: Self.texts.keys))
        #expect(reader.keys.contains("linkspan.services.presence.awayAfter"))
        #expect(!reader.keys.contains("linkspan.transport.sokcetio.path"))
    }

    @Test
    func `has its wrong values told with key and source`() throws {
        var texts = Self.texts
        texts["linkspan.services.logging.level"] = "loud"
        texts["linkspan.services.enabled"] = "logging"
        let error = #expect(throws: ConfigurationError.self) { try self.load(Texts(texts: texts)) }
        let told = error?.description ?? ""
        #expect(told.contains("services.logging.level  expected one of trace, debug, info, found \"loud\""), "\(told)")
        #expect(told.contains("settings"), "\(told)")
    }
}
