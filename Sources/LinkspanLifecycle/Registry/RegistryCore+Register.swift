extension RegistryCore {
    func add(_ entries: [Entry], groups: [Group] = []) throws(RegistryError) {
        // Mailboxes first: a service that is started at once must have one.
        let late: ServiceRegistry.StateMachine.OnClaim
        for entry in entries {
            self.addMailbox(entry)
        }
        do {
            late = try self.machine { machine throws(RegistryError) in
                try machine.add(entries, groups: groups)
            }
        } catch {
            for entry in entries {
                self.close(entry.id)
            }
            throw error
        }
        let paths = self.machine { machine in
            entries.compactMap { entry in machine.members[entry.id].map { (entry.id, $0.path) } }
        }
        self.fanout { fanout in
            for (id, path) in paths {
                fanout.rename(id, to: path)
            }
        }
        self.beginLate(late)
    }

    func addMailbox(_ entry: Entry) {
        let mailbox = Mailbox(
            id: entry.id, path: entry.name.rawValue, interest: .service(entry.service),
            capacity: entry.budgets.mailbox, limit: entry.budgets.handle, urgency: entry.urgency,
            receiver: ServiceReceiver(service: entry.service))
        self.reportTotals()
        self.fanout { $0.add(mailbox) }
    }

    /// Takes over all services of a registry that was not started, as a group of this one.
    func adopt(
        _ registry: ServiceRegistry, into parent: ServiceID, _ settings: ServiceSettings
    ) throws(RegistryError) -> Registration {
        let core = registry.core
        guard core !== self, core.home === core else {
            throw RegistryError(
                code: .notNestable, message: "\(registry.name) is nested already", paths: [registry.name.rawValue])
        }
        let content = try core.machine { machine throws(RegistryError) in try machine.surrender() }
        let group = Group(
            id: registry.id, parent: parent, name: settings.name ?? registry.name,
            placement: settings.placement ?? registry.placement,
            importance: settings.importance ?? registry.importance, origin: settings.origin,
            registry: WeakReference(registry), keeper: registry)
        do {
            try self.add(content.entries, groups: [group] + content.groups)
        } catch {
            core.machine { $0.restore(content) }
            throw error
        }
        let observers = core.fanout { fanout in
            let all = fanout.surrender()
            fanout.home = WeakReference(self)
            return all
        }
        for report in core.takeTotals() { self.addTotals(report) }
        let known = Set(content.entries.map { $0.id })
        self.fanout { fanout in
            for mailbox in observers where !known.contains(mailbox.id) {
                fanout.add(mailbox)
            }
        }
        let members = content.entries.map { $0.id }
        return Registration(.group(registry.id, registration: group.registration, members: members), self)
    }

    func health(of member: Member, _ service: any LifecycleService) async -> Health {
        let deadline = self.later(member.entry.budgets.handle)
        let health = { @Sendable () async throws in await service.health() }
        switch await self.run(member.entry.urgency, ServiceCall(), until: deadline, grace: .zero, health) {
        case .returned(let health): return health
        case .threw(let error): return .unhealthy("\(error)")
        case .abandoned: return .unhealthy("no answer in time")
        }
    }
}
