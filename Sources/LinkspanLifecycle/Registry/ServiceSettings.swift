/// What whoever registers a service decides instead of the service, such as a configuration file.
public struct ServiceSettings: Sendable, Hashable {
    /// Another name.
    public var name: ServiceName?
    /// Another place in the order.
    public var placement: Placement?
    /// Other limits.
    public var budgets: Budgets?
    /// Another importance.
    public var importance: Importance?
    /// Where the registration comes from, for messages: `code`, or a file and key.
    public var origin: String

    /// Makes settings; what is left out stays as the service says.
    public init(
        name: ServiceName? = nil, placement: Placement? = nil, budgets: Budgets? = nil,
        importance: Importance? = nil, origin: String = "code"
    ) {
        self.name = name
        self.placement = placement
        self.budgets = budgets
        self.importance = importance
        self.origin = origin
    }
}
