import LinkspanKit

/// A service with options: notes the events whose replies took too long on average since the last report.
actor SlowReplies: TrafficObserving {
    let name: ServiceName = "slowreplies"
    private let limit: Duration
    private let ignored: Set<String>
    private var increases = TrafficIncreases()
    /// The events of those requests, the latest last.
    private(set) var events: [String] = []

    init(_ options: OptionValues) {
        self.limit = options["limit"] ?? .seconds(1)
        self.ignored = Set(options["ignore"] ?? [String]())
    }

    func on(_ event: Stamped<TrafficEvent>, _ scope: ServiceScope) async throws {
        let increase = self.increases.note(event)
        guard increase.acknowledged > 0, increase.roundTrips / increase.acknowledged >= self.limit else { return }
        if !self.ignored.contains(event.event.event) { self.events.append(event.event.event) }
    }

    func health() async -> Health {
        self.events.isEmpty ? .healthy : .degraded("\(self.events.count) slow replies")
    }
}

extension ServiceFactory {
    static let slowReplies = ServiceFactory(
        "slowreplies",
        options: [
            PluginOption(
                "limit", default: Duration.seconds(1), in: 0...60, "The time from which on a reply is slow."),
            PluginOption("ignore", default: [String](), "Events that may take their time."),
        ]
    ) { SlowReplies($0) }
}
