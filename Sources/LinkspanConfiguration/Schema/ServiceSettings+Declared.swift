internal import Linkspan
internal import LinkspanLifecycle
internal import LinkspanMessaging

extension PlannedService {
    /// The keys that every service has besides its own: per-registration overrides of its defaults.
    static let declared: [PluginOption] = [
        PluginOption(
            "importance", .choice([Importance.required.rawValue, Importance.optional.rawValue]),
            fallback: "the service's own", "Whether a start fails without the service."),
        PluginOption(
            "after", .list, fallback: "none",
            "Services that must be ready before this one starts, besides those it needs."),
        PluginOption(
            "priority", .number(-1_000...1_000), fallback: "the service's own",
            "The order among services that may start together; higher starts earlier."),
        PluginOption(
            "handleLimit", .seconds(0.001...3_600), fallback: "the service's own",
            "The time limit for handling one event."),
    ]
}

extension ServiceSettings {
    /// The registration settings of a service.
    ///
    /// - Parameters:
    ///   - values: the values of the keys that every service has.
    ///   - service: the defaults.
    ///   - origin: where the service was enabled.
    init(_ values: OptionValues, for service: any LifecycleService, origin: String) {
        self.init()
        self.origin = origin
        self.importance = values["importance"] as Importance?
        if values.values["after"] != nil || values.values["priority"] != nil {
            var placement = service.placement
            placement.needs += (values["after"] ?? []).map { .hard(ServiceName(rawValue: $0)) }
            placement.priority = values["priority"] ?? placement.priority
            self.placement = placement
        }
        if let limit: Duration = values["handleLimit"] {
            var budgets = service.budgets
            budgets.handle = limit
            self.budgets = budgets
        }
    }
}
