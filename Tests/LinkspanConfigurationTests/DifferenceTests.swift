internal import Linkspan
internal import LinkspanConfiguration
internal import LinkspanLifecycle
internal import LinkspanMessaging
internal import Testing

@Suite("Differences of plans")
struct DifferenceTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var what: String
        var before: [String: String] = [:]
        var after: [String: String]
        var lines: [String]
        var testDescription: String { self.what }
    }

    /// Services that need one another.
    private static func chain() -> Catalog {
        var catalog = Catalog.sample()
        for (name, needs) in [("middle", "logging"), ("top", "middle")] as [(ServiceName, ServiceName)] {
            catalog.add(ServiceFactory(name.rawValue) { PlacedService(name: name, placement: .needing(needs), $0) })
        }
        return catalog
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `services restart behind those that they need, unless they are only started now`() throws {
        func plan(_ services: String) throws -> LoadedPlan {
            try load(
                "linkspan: { transport: { adapter: memory, url: memory://a }, services: { \(services) } }",
                catalog: Self.chain())
        }
        let next = try plan("enabled: [logging, middle, top], logging: { level: debug }")
        let restarts = "\(try plan("enabled: [logging, middle, top]").difference(to: next))"
        #expect(restarts.contains("needs logging") && restarts.contains("needs middle"))
        let starts = "\(try plan("enabled: [logging]").difference(to: next))"
        #expect(starts.contains("+ middle") && !starts.contains("needs"))
    }

    static let rows: [Row] = [
        Row(what: "nothing", after: [:], lines: ["nothing changes"]),
        Row(
            what: "a value that is the default", after: ["LINKSPAN_CONNECTION_IDLE_TIMEOUT": "5.0"],
            lines: ["nothing changes"]),
        Row(
            what: "a list that is as empty as before", after: ["LINKSPAN_SERVICES_PRESENCE_AFTER": ""],
            lines: ["nothing changes"]),
        Row(
            what: "options of what is not in use",
            after: ["LINKSPAN_TRANSPORT_SECOND_PACE": "3", "LINKSPAN_SERVICES_METRICS_SIZE": "3"],
            lines: ["nothing changes"]),
        Row(
            what: "another transport", after: ["LINKSPAN_TRANSPORT_ADAPTER": "second"],
            lines: ["transport first -> second", "~ endpoint first://lobby/ -> second://lobby/ (reconnect)"]),
        Row(
            what: "another endpoint, without its query",
            after: ["LINKSPAN_TRANSPORT_URL": "", "LINKSPAN_TRANSPORT_FIRST_URL": "first://other?token=s3cr3t"],
            lines: ["~ endpoint first://lobby/ -> first://other/ (reconnect)"]),
        Row(
            what: "an option of the transport", after: ["LINKSPAN_TRANSPORT_FIRST_PACE": "3"],
            lines: ["~ transport.first.pace 1 -> 3 (reconnect)"]),
        Row(
            what: "options of the connection",
            after: ["LINKSPAN_CONNECTION_IDLE_TIMEOUT": "6", "LINKSPAN_CONNECTION_DELIVERY_KEY": "field"],
            lines: ["~ connection.deliveryKey none -> field (refused)", "~ connection.idleTimeout 5 -> 6 (hot)"]),
        Row(
            what: "services that come and go", after: ["LINKSPAN_SERVICES_ENABLED": "metrics,rooms"],
            lines: ["- presence", "+ metrics"]),
        Row(
            what: "the order of the list", after: ["LINKSPAN_SERVICES_ENABLED": "presence,rooms"],
            lines: ["nothing changes"]),
        Row(
            what: "a hot option, the other way round too",
            before: ["LINKSPAN_SERVICES_ROOMS_MOOD": "wild"], after: [:],
            lines: ["~ rooms.mood wild -> calm (hot)"]),
        Row(
            what: "an option that restarts, and who needs the service",
            after: ["LINKSPAN_SERVICES_ROOMS_SIZE": "9"],
            lines: ["~ rooms.size 1 -> 9 (restart)", "~ presence (restart: needs rooms)"]),
        Row(
            what: "an option that is said to be hot by a service that takes nothing over",
            before: ["LINKSPAN_SERVICES_ENABLED": "plain"],
            after: ["LINKSPAN_SERVICES_ENABLED": "plain", "LINKSPAN_SERVICES_PLAIN_MOOD": "wild"],
            lines: ["~ plain.mood calm -> wild (restart)"]),
        Row(
            what: "the place of a service", after: ["LINKSPAN_SERVICES_PRESENCE_PRIORITY": "3"],
            lines: ["~ presence.priority the service's own -> 3 (restart)"]),
    ]

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test(arguments: Self.rows)
    func `a difference is described in lines`(row: Row) throws {
        let stage = Stage()
        let difference = try stage.load(row.before).difference(to: try stage.load(row.after))
        #expect(difference.description.split(separator: "\n").map(String.init) == row.lines)
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a difference never shows a secret`() throws {
        let given = ["LINKSPAN_TRANSPORT_ADAPTER": "websocket", "LINKSPAN_TRANSPORT_URL": "ws://a"]
        let old = try load(environment: given.merging(["LINKSPAN_TRANSPORT_WEBSOCKET_TOKEN": "s3cr3t"]) { $1 })
        let new = try load(environment: given.merging(["LINKSPAN_TRANSPORT_WEBSOCKET_TOKEN": "hidden"]) { $1 })
        #expect(
            old.difference(to: new).description == "~ transport.websocket.token (secret) -> (secret) (reconnect)")
    }
}
