/// A service or a group to be planned.
struct ServiceNode: Sendable {
    var id: ServiceID
    /// The group it is in; `nil` for the outermost group.
    var group: ServiceID?
    var name: ServiceName
    var placement: Placement
    var isGroup: Bool
}

/// The services and groups of a registry by where they are, to find who is meant by a name.
struct ServiceTree: Sendable {
    private(set) var nodes: [ServiceNode]
    private var byID: [ServiceID: ServiceNode] = [:]
    private var members: [ServiceID: [ServiceID]] = [:]
    private var paths: [ServiceID: String] = [:]

    init(_ nodes: [ServiceNode]) {
        self.nodes = nodes
        for node in nodes {
            self.byID[node.id] = node
            if let group = node.group {
                self.members[group, default: []].append(node.id)
            }
        }
        for node in nodes {
            self.paths[node.id] = self.chain(of: node).reversed().map { $0.name.rawValue }.joined(separator: ".")
        }
    }

    var leaves: [ServiceNode] { self.nodes.filter { !$0.isGroup } }

    /// The path from the outermost group, which is named first.
    func path(of id: ServiceID) -> String { self.paths[id] ?? "" }

    /// The path without the outermost group.
    func localPath(of id: ServiceID) -> String {
        let path = self.path(of: id)
        guard let dot = path.firstIndex(of: ".") else { return path }
        return String(path[path.index(after: dot)...])
    }

    func phase(of id: ServiceID) -> Placement.Phase {
        guard let node = self.byID[id] else { return .feature }
        return self.chain(of: node).lazy.compactMap { $0.placement.phase }.first ?? .feature
    }

    /// The order among equals: priority, then name, then path.
    func rank(of id: ServiceID) -> (Int, String, String) {
        guard let node = self.byID[id] else { return (0, "", "") }
        return (-self.chain(of: node).reduce(0) { $0 + $1.placement.priority }, node.name.rawValue, self.path(of: id))
    }

    /// The services in a group at any depth, or the service itself.
    func leaves(in id: ServiceID) -> [ServiceID] {
        guard let node = self.byID[id], node.isGroup else { return [id] }
        return (self.members[id] ?? []).flatMap { self.leaves(in: $0) }
    }

    /// The services that `name` means for `node`: a sibling, else a sibling of an enclosing group, else the only
    /// service of that name in the tree.
    func resolve(
        _ name: ServiceName, for node: ServiceNode, isRequired: Bool, _ key: String,
        _ problems: inout [String]
    ) -> [ServiceID] {
        let parts = name.rawValue.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        for group in self.chain(of: node).dropFirst() {
            if let found = self.descend(parts, from: group.id) {
                return self.leaves(in: found)
            }
        }
        let suffix = ".\(name.rawValue)"
        let found = self.nodes.filter { $0.id != node.id && self.path(of: $0.id).hasSuffix(suffix) }
        if found.count == 1 {
            return self.leaves(in: found[0].id)
        }
        let place = "\(self.path(of: node.id)).\(key)"
        if found.count > 1 {
            let paths = found.map { self.path(of: $0.id) }.sorted().joined(separator: ", ")
            problems.append("\(place): '\(name)' is ambiguous (\(paths))")
        } else if isRequired {
            let others = self.nodes.filter { $0.id != node.id && $0.group != nil }.map { $0.name.rawValue }
            let hint = Suggestion.closest(to: name.rawValue, among: others).map { " (did you mean '\($0)'?)" }
            problems.append("\(place): '\(name)' is not registered\(hint ?? "")")
        }
        return []
    }

    private func descend(_ parts: [String], from group: ServiceID) -> ServiceID? {
        var at = group
        for part in parts {
            let next = (self.members[at] ?? []).first { self.byID[$0]?.name.rawValue == part }
            guard let next else { return nil }
            at = next
        }
        return at
    }

    private func chain(of node: ServiceNode) -> [ServiceNode] {
        var chain = [node]
        while let group = chain.last?.group, let next = self.byID[group] {
            chain.append(next)
        }
        return chain
    }
}
