extension ServiceRegistry {
    /// Calls a ready service as the registry itself does: on its threads, and no longer than it may handle an event.
    ///
    /// - Parameters:
    ///   - name: the name of a service that was registered here.
    ///   - body: the call.
    /// - Throws: ``RegistryError`` with code `notFound` when it is not there or not ready; or `abandoned`; else what
    ///   `body` throws.
    package func call(
        _ name: ServiceName, _ body: @escaping @Sendable (any LifecycleService) async throws -> Void
    ) async throws {
        let core = self.core.home
        let member = core.machine { machine in
            machine.members.values.first { $0.entry.group == self.id && $0.entry.name == name && $0.state == .ready }
        }
        guard let member else { throw RegistryError(code: .notFound, message: "there is no ready service '\(name)'") }
        let limit = member.entry.budgets.handle
        switch await core.call(member, until: core.later(limit), { service, _ in try await body(service) }) {
        case .returned: ()
        case .threw(let error): throw error
        case .abandoned:
            throw RegistryError(
                code: .abandoned, message: "no answer within \(limit)", paths: [member.path])
        }
    }
}
