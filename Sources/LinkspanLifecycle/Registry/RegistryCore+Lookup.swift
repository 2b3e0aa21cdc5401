extension RegistryCore {
    /// The services and nested registries of a type, by path.
    func candidates<Wanted>(_ type: Wanted.Type, in group: ServiceID? = nil) -> [(path: String, service: Wanted)] {
        let all = self.machine { machine -> [(String, any LifecycleService)] in
            let inside = machine.contents(of: group ?? machine.groups.root)
            let services = inside.members.compactMap { machine.members[$0] }
                .filter { !$0.isRemoved && !($0.entry.service is DroppedService) }
                .map { ($0.path, $0.entry.service) }
            let registries = inside.groups.dropFirst().compactMap { machine.groups[$0] }.compactMap { group in
                group.registry().map { (machine.groups.path(of: group.id), $0) }
            }
            return services + registries
        }
        return all.compactMap { path, service in (service as? Wanted).map { (path, $0) } }.sorted { $0.0 < $1.0 }
    }

    /// The ready services that adopt `Responder`, in the order of start.
    func responders<Responder: Sendable>(_ type: Responder.Type) -> [(member: Member, responder: Responder)] {
        let members = self.machine { machine in
            machine.plan.order.compactMap { machine.members[$0] }.filter { $0.state == .ready && !$0.isRemoved }
        }
        return members.compactMap { member in
            (member.entry.service as? Responder).map { (member, $0) }
        }
    }
}

extension RegistryCore: ScopeRegistry {
    func emit<Event: LifecycleEvent>(_ event: Event, cause: UInt64?) -> UInt64? {
        EventDelivery(self).emit(event, cause: cause)
    }

    func needs(of id: ServiceID) -> [(path: String, service: any LifecycleService)] {
        self.machine { machine in
            (machine.plan.needs[id] ?? []).compactMap { machine.members[$0.to] }.filter { $0.state == .ready }
        }.map { ($0.path, $0.entry.service) }
    }
}
