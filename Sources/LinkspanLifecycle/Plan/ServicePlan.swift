/// The order in which services start, worked out from what they declare.
///
/// Pure: names and placements in, waves or problems out. Groups, which nested registries become, only lend their needs
/// and phases to what is in them, so a tree has the plan of the flat list of its leaves.
struct ServicePlan: Sendable, Equatable {
    /// A need of a service that names one other.
    struct Edge: Sendable, Hashable {
        var to: ServiceID
        var isHard: Bool
    }

    /// Services that start together, after those of the wave before.
    private(set) var waves: [[ServiceID]]
    /// The services that each service waits for, as it declared.
    private(set) var needs: [ServiceID: [Edge]]

    /// The services in one line.
    var order: [ServiceID] { self.waves.flatMap { $0 } }

    static let empty = ServicePlan(waves: [], needs: [:])
}

extension ServicePlan {
    /// Works out a plan.
    ///
    /// - Parameters:
    ///   - nodes: The services and groups.
    ///   - known: Those that were planned before; what they need may have been removed meanwhile.
    /// - Returns: The waves, and what each service waits for.
    /// - Throws: All problems at once.
    static func make(_ nodes: [ServiceNode], tolerating known: Set<ServiceID> = []) throws(RegistryError) -> ServicePlan
    {
        let tree = ServiceTree(nodes)
        var problems: [String] = []
        let edges = Self.edges(tree, known, &problems)
        guard problems.isEmpty else { throw Self.invalid(problems) }
        let leaves = tree.leaves
        let sorted = Self.sort(leaves.map { $0.id }, edges)
        guard sorted.count == leaves.count else { throw Self.invalid([Self.cycle(leaves, edges, tree)]) }
        return ServicePlan(waves: Self.waves(sorted, edges, tree), needs: edges)
    }

    private static func invalid(_ problems: [String]) -> RegistryError {
        RegistryError(code: .invalidPlan, message: problems.joined(separator: "; "), problems: problems)
    }

    private static func edges(
        _ tree: ServiceTree, _ known: Set<ServiceID>, _ problems: inout [String]
    ) -> [ServiceID: [Edge]] {
        var edges: [ServiceID: [Edge]] = [:]
        for leaf in tree.leaves {
            edges[leaf.id] = []
        }
        for node in tree.nodes.sorted(by: { tree.path(of: $0.id) < tree.path(of: $1.id) }) {
            let own = tree.leaves(in: node.id)
            for need in node.placement.needs {
                let isRequired = need.isHard && !known.contains(node.id)
                for target in tree.resolve(need.name, for: node, isRequired: isRequired, "needs", &problems) {
                    for leaf in own {
                        edges[leaf, default: []].append(Edge(to: target, isHard: need.isHard))
                    }
                }
            }
            for name in node.placement.before {
                for target in tree.resolve(name, for: node, isRequired: false, "before", &problems) {
                    edges[target, default: []].append(contentsOf: own.map { Edge(to: $0, isHard: false) })
                }
            }
        }
        return edges
    }

    /// Sorts so that everything comes after what it waits for; what is in or behind a cycle is missing.
    private static func sort(_ ids: [ServiceID], _ edges: [ServiceID: [Edge]]) -> [ServiceID] {
        var waiting: [ServiceID: Int] = [:]
        var dependants: [ServiceID: [ServiceID]] = [:]
        for id in ids {
            let targets = Set((edges[id] ?? []).map { $0.to })
            waiting[id] = targets.count
            for target in targets {
                dependants[target, default: []].append(id)
            }
        }
        var sorted = ids.filter { waiting[$0] == 0 }
        var next = 0
        while next < sorted.count {
            for dependant in dependants[sorted[next]] ?? [] {
                let left = (waiting[dependant] ?? 0) - 1
                waiting[dependant] = left
                if left == 0 {
                    sorted.append(dependant)
                }
            }
            next += 1
        }
        return sorted
    }

    /// Groups by phase, then by depth of needs inside the phase.
    ///
    /// A declared need wins over a phase: who needs a later
    /// phase moves there.
    private static func waves(
        _ sorted: [ServiceID], _ edges: [ServiceID: [Edge]], _ tree: ServiceTree
    ) -> [[ServiceID]] {
        struct Level: Hashable, Comparable {
            var phase: Placement.Phase
            var depth: Int

            static func < (left: Level, right: Level) -> Bool {
                (left.phase.rawValue, left.depth) < (right.phase.rawValue, right.depth)
            }
        }
        var levels: [ServiceID: Level] = [:]
        for id in sorted {
            var level = Level(phase: tree.phase(of: id), depth: 0)
            for edge in edges[id] ?? [] {
                if let below = levels[edge.to] { level = max(level, Level(phase: below.phase, depth: below.depth + 1)) }
            }
            levels[id] = level
        }
        let groups = Dictionary(grouping: sorted) { levels[$0] ?? Level(phase: .feature, depth: 0) }
        return groups.sorted { $0.key < $1.key }.map { group in
            group.value.sorted { tree.rank(of: $0) < tree.rank(of: $1) }
        }
    }

    private static func cycle(
        _ leaves: [ServiceNode], _ edges: [ServiceID: [Edge]], _ tree: ServiceTree
    ) -> String {
        let placed = Set(Self.sort(leaves.map { $0.id }, edges))
        let stuck = leaves.map { $0.id }.filter { !placed.contains($0) }
            .sorted { tree.localPath(of: $0) < tree.localPath(of: $1) }
        guard var at = stuck.first else { return "dependency cycle" }
        // Everything stuck waits for something stuck, so following the first such need must come round.
        var trail: [ServiceID] = []
        while !trail.contains(at) {
            trail.append(at)
            let targets = (edges[at] ?? []).map { $0.to }.filter { !placed.contains($0) }
            at = targets.min { tree.localPath(of: $0) < tree.localPath(of: $1) } ?? at
        }
        var ring = Array(trail.drop { $0 != at })
        if let least = ring.indices.min(by: { tree.localPath(of: ring[$0]) < tree.localPath(of: ring[$1]) }) {
            ring = Array(ring[least...] + ring[..<least])
        }
        let names = (ring + ring.prefix(1)).map { tree.localPath(of: $0) }
        return "dependency cycle \(names.joined(separator: " -> "))"
    }
}
