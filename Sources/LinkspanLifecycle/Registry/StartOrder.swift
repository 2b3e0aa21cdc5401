/// The order in which services would start, and why.
///
/// A registry of the same services starts them in just this order.
package struct StartOrder: Sendable, Hashable {
    /// The services in groups: each group starts together, after the group before it.
    package let waves: [[Step]]

    /// A service in the order.
    package struct Step: Sendable, Hashable {
        /// Its name, or its path if it is in a nested registry.
        package let name: String
        /// The phase it declares, or that of the registry it is in.
        package let phase: Placement.Phase
        /// The rank among services of the same phase; higher is earlier.
        package let priority: Int
        /// The services that start before it.
        package let needs: [Placement.Need]
    }

    /// Works out the order.
    ///
    /// - Parameter services: the services, each with its registration settings.
    /// - Throws: ``RegistryError`` with code `duplicateName`; or `invalidPlan`, which names all needs that are missing,
    ///   unclear or circular.
    package init(_ services: [(service: any LifecycleService, settings: ServiceSettings)]) throws(RegistryError) {
        let root = ServiceNode(
            id: .make(), group: nil, name: "services", placement: Placement(), isGroup: true)
        var nodes = [root]
        for (service, settings) in services {
            let name = settings.name ?? service.name
            guard !nodes.contains(where: { $0.group == root.id && $0.name == name }) else {
                throw RegistryError(
                    code: .duplicateName, message: "\(name) is registered twice", paths: [name.rawValue])
            }
            let registry = service as? ServiceRegistry
            let own = ServiceNode(
                id: registry?.id ?? .make(), group: root.id, name: name,
                placement: settings.placement ?? service.placement, isGroup: registry != nil)
            nodes.append(own)
            nodes += registry?.core.machine { $0.nodes.filter { $0.id != own.id } } ?? []
        }
        self.waves = try Self.waves(of: nodes)
    }

    private static func waves(of nodes: [ServiceNode]) throws(RegistryError) -> [[Step]] {
        let plan = try ServicePlan.make(nodes)
        let tree = ServiceTree(nodes)
        return plan.waves.map { wave in
            wave.map { id in
                let needs = Set(plan.needs[id] ?? []).map { edge in
                    let name = ServiceName(rawValue: tree.localPath(of: edge.to))
                    return edge.isHard ? Placement.Need.hard(name) : .soft(name)
                }
                return Step(
                    name: tree.localPath(of: id), phase: tree.phase(of: id), priority: -tree.rank(of: id).0,
                    needs: needs.sorted {
                        ($0.name.rawValue, $1.isHard ? 1 : 0) < ($1.name.rawValue, $0.isHard ? 1 : 0)
                    })
            }
        }
    }

    /// The services in one line.
    package var steps: [Step] { self.waves.flatMap { $0 } }

    /// The services that cannot do without one of `names`, directly or by way of others; `names` left out.
    package func dependants(of names: Set<String>) -> Set<String> {
        var found = names
        // Needs point backwards, so one pass in the order of start sees everything.
        for step in self.steps where step.needs.contains(where: { $0.isHard && found.contains($0.name.rawValue) }) {
            found.insert(step.name)
        }
        return found.subtracting(names)
    }
}
