internal import Foundation
internal import Linkspan
internal import LinkspanConfiguration
internal import LinkspanLifecycle
internal import LinkspanMessaging
internal import Testing

@Suite("Reports on a configuration")
struct ReportTests {
    private static let file = """
        linkspan:
          transport: { adapter: websocket, websocket: { url: "ws://a/b?token=hidden", pingInterval: 5 } }
          connection: { idleTimeout: 7 }
          services:
            enabled: [typing, presence, logging]
            typing: { after: [logging] }
            logging: { level: debug }

        """

    /// The text of a report, with the file's folder left out.
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    private static func report(
        _ text: String = Self.file, _ make: (ConfigurationSources, ConfigurationLoader) -> ConfigurationReport
    ) throws -> (lines: [String], json: String, problems: [String]) {
        var catalog = Catalog.sample()
        catalog.add(ServiceFactory("typing") { PlacedService(name: "typing", placement: .needing("presence"), $0) })
        return try withDirectory { files in
            let path = try files.write("chat.yaml", text)
            let sources = ConfigurationSources(
                file: path, environment: ["LINKSPAN_CONNECTION_IDLE_TIMEOUT": "8"], arguments: [])
            let report = make(sources, ConfigurationLoader(catalog: catalog))
            func short(_ text: String) -> String { text.replacing("\(files.directory.path)/", with: "") }
            return (report.lines.map(short), short(report.json), report.problems.map(short))
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a plan has what differs from its defaults, and the services in the order of start`() throws {
        let plan = try Self.report { ConfigurationReport.plan($0, by: $1) }
        #expect(
            plan.lines.joined(separator: "\n") == """
                transport: websocket, from chat.yaml:2
                endpoint: ws://a/b, from chat.yaml:2
                option: transport.websocket.pingInterval = 5, from chat.yaml:2
                option: connection.idleTimeout = 8, from LINKSPAN_CONNECTION_IDLE_TIMEOUT
                start 1:
                  connections
                start 2:
                  logging
                      services.logging.level = debug, from chat.yaml:7
                  presence
                start 3:
                  typing after logging: need, from chat.yaml:6; after presence: need, from the service
                """)
        #expect(
            plan.json.hasPrefix(
                #"{"endpoint":{"key":"endpoint","origin":"chat.yaml:2","value":"ws://a/b"},"options":[{"#))
        #expect(
            plan.json.contains(#"{"after":"presence","kind":"need","origin":"the service"}],"settings":[]}]]}"#))
        #expect(plan.problems.isEmpty)
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a check is one line, or all problems`() throws {
        let check = try Self.report { ConfigurationReport.check($0, by: $1) }
        #expect(check.lines == ["valid: websocket to ws://a/b, services connections, logging, presence, typing"])
        #expect(check.json == #"{"problems":[]}"# && check.problems.isEmpty)
        let broken = try Self.report("linkspan: { transport: { adaptr: memory } }") {
            ConfigurationReport.check($0, by: $1)
        }
        #expect(broken.lines.isEmpty)
        #expect(broken.problems.contains { $0.contains("linkspan.transport.adaptr  unknown transport or key") })
        #expect(broken.json.contains(#""path":"linkspan.transport.adaptr""#))
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a key is explained with all that it hides, a section by its keys, and another key is a problem`() throws {
        func explain(_ key: String) throws -> (lines: [String], json: String, problems: [String]) {
            try Self.report { ConfigurationReport.explain(key, in: $0, by: $1) }
        }
        let key = try explain("connection.idleTimeout")
        #expect(
            key.lines == [
                "linkspan.connection.idleTimeout = 8",
                "  The time a connection stays up after its last holder released it.",
                "  from: LINKSPAN_CONNECTION_IDLE_TIMEOUT", "  hides: 7 from chat.yaml:3",
                "  takes: seconds (a number from 0 to 86400)", "  default: 5", "  a change while running: hot",
                "  variable: LINKSPAN_CONNECTION_IDLE_TIMEOUT",
            ])
        #expect(key.json.hasPrefix(#"{"fallback":"5","hides":[{"origin":"chat.yaml:3","value":"7"}],"#))
        #expect(try explain("services.outbox.path").lines.contains("  default: none, it must be given"))
        #expect(try !explain("transport.adapter").lines.contains { $0.hasPrefix("  default:") })
        let section = try explain("linkspan.transport.websocket")
        #expect(section.lines.count == 4 && section.problems.isEmpty)
        #expect(section.lines[1] == "linkspan.transport.websocket.pingInterval = 5  from chat.yaml:2")
        let other = try explain("transport.adaptr")
        #expect(other.lines.isEmpty)
        #expect(other.problems.map { $0.contains("(did you mean 'adapter'?") } == [true])
        #expect(other.json.contains(#""code":"unknownName""#))
    }
}
