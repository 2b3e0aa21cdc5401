/// Per-registration overrides of a service's defaults, for instance from a configuration file.
public struct ServiceSettings: Sendable, Hashable {
    /// The name, if not the service's own.
    public var name: ServiceName?
    /// The place in the order, if not the service's own.
    public var placement: Placement?
    /// The limits, if not the service's own.
    public var budgets: Budgets?
    /// The importance, if not the service's own.
    public var importance: Importance?
    /// The origin of the registration, for error messages: `code`, or a file and key.
    package var origin = "code"

    /// Makes settings; parts that are left out are the service's own.
    public init(
        name: ServiceName? = nil, placement: Placement? = nil, budgets: Budgets? = nil,
        importance: Importance? = nil
    ) {
        self.name = name
        self.placement = placement
        self.budgets = budgets
        self.importance = importance
    }
}
