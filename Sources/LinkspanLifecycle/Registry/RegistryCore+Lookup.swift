extension RegistryCore {
    /// The services and nested registries of a type, by path.
    func candidates<Wanted>(_ type: Wanted.Type, in group: ServiceID? = nil) -> [(path: String, service: Wanted)] {
        let all = self.machine { machine -> [(String, any LifecycleService)] in
            let inside = machine.contents(of: group ?? machine.root)
            let services = inside.members.compactMap { machine.members[$0] }
                .filter { !$0.isRemoved && !($0.entry.service is DroppedService) }
                .map { ($0.path, $0.entry.service) }
            let registries = inside.groups.dropFirst().compactMap { machine.groups[$0] }.compactMap { group in
                group.registry.object.map { (machine.path(of: group.id), $0 as any LifecycleService) }
            }
            return services + registries
        }
        return all.compactMap { path, service in (service as? Wanted).map { (path, $0) } }.sorted { $0.0 < $1.0 }
    }
}
