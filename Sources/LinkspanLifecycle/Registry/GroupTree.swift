/// A registry as part of another; at the top, the registry itself.
struct Group: Sendable {
    let id: ServiceID
    var parent: ServiceID?
    let name: ServiceName
    var placement: Placement
    var importance: Importance
    var origin: String
    /// The registry, for as long as it exists.
    var registry: @Sendable () -> (any LifecycleService)? = { nil }
    /// Keeps a nested registry alive, and puts it on its own again when it leaves.
    var leave: (@Sendable () -> Void)?
    /// The identity of this registration of the registry.
    let registration = ServiceID.make()
}

/// The nested registries of a registry, by their places.
struct GroupTree: Sendable {
    let root: ServiceID
    private var groups: [ServiceID: Group]

    init(root: Group) {
        self.root = root.id
        self.groups = [root.id: root]
    }

    subscript(_ id: ServiceID) -> Group? { self.groups[id] }

    var ids: [ServiceID] { Array(self.groups.keys) }

    var rootPath: String { self.path(of: self.root) }

    /// The groups as they are planned.
    var nodes: [ServiceNode] {
        self.groups.values.map { group in
            ServiceNode(id: group.id, group: group.parent, name: group.name, placement: group.placement, isGroup: true)
        }
    }

    /// The path of a group, the outermost first.
    func path(of group: ServiceID) -> String {
        guard let own = self.groups[group] else { return "" }
        return own.parent.map { "\(self.path(of: $0)).\(own.name)" } ?? own.name.rawValue
    }

    /// Whether a group and every group around it are required.
    func isRequired(_ group: ServiceID) -> Bool {
        guard let group = self.groups[group] else { return true }
        return group.importance == .required && (group.parent.map { self.isRequired($0) } ?? true)
    }

    /// The groups in a group at any depth, itself included.
    func inside(_ group: ServiceID) -> [ServiceID] {
        [group] + self.groups.values.filter { $0.parent == group }.flatMap { self.inside($0.id) }
    }

    mutating func add(_ group: Group) { self.groups[group.id] = group }

    /// Removes a group.
    ///
    /// - Returns: puts its registry on its own again.
    mutating func remove(_ id: ServiceID) -> (@Sendable () -> Void)? { self.groups.removeValue(forKey: id)?.leave }

    /// Takes all groups but the outermost out.
    mutating func removeNested() -> [Group] {
        defer { self.groups = self.groups.filter { $0.key == self.root } }
        return self.groups.values.filter { $0.id != self.root }
    }

    /// Makes the outermost registry known.
    mutating func setRegistry(_ registry: @escaping @Sendable () -> (any LifecycleService)?) {
        self.groups[self.root]?.registry = registry
    }
}
