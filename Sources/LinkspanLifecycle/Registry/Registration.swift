/// The registration of a service, a nested registry or an observer; releasing it removes the registered object.
public final class Registration: Sendable {
    enum Subject: Sendable {
        case service(ServiceID)
        case observer(ServiceID)
        /// A nested registry. It can be registered again, so its registration has an identity of its own.
        case group(ServiceID, registration: ServiceID, members: [ServiceID])
    }

    private let subject: Subject
    private let core: WeakReference<RegistryCore>

    init(_ subject: Subject, _ core: RegistryCore) {
        self.subject = subject
        self.core = WeakReference(core)
    }

    deinit {
        guard let core = self.core.object?.home, !self.isKept(in: core) else { return }
        self.remove(from: core)
    }

    /// Removes the registered object: it gets no further event, and is stopped in the background.
    public func cancel() {
        if let core = self.core.object?.home { self.remove(from: core) }
    }

    /// Removes the registered object, and waits until it has stopped or its budget has passed.
    package func cancelAndDrain() async {
        self.cancel()
        _ = await self.settled()
    }

    /// Keeps the registered object in the registry, even when this registration is released.
    public func keep() {
        guard let core = self.core.object?.home else { return }
        switch self.subject {
        case .service(let id): core.machine { $0.keep(id) }
        case .observer(let id): core.fanout { $0.keep(id) }
        case .group(let id, let registration, _): core.machine { $0.groups.keep(id, of: registration) }
        }
    }

    /// Waits until the service is no longer being started or stopped; `nil` once it was removed.
    ///
    /// Before the registry is started this waits for the start.
    package func settled() async -> ServiceState? {
        guard let core = self.core.object?.home else { return nil }
        let stop = RegistryStop(core)
        switch self.subject {
        case .service(let id): return await stop.settled(id)
        case .observer(let id):
            await EventDelivery(core).idle(id, within: .seconds(1))
            return nil
        case .group(_, _, let members):
            var last: ServiceState?
            for id in members { last = await stop.settled(id) ?? last }
            return last
        }
    }

    private func isKept(in core: RegistryCore) -> Bool {
        switch self.subject {
        case .service(let id): core.machine { $0.members[id]?.entry.isKept ?? true }
        case .observer(let id): core.fanout { $0.isKept(id) }
        case .group(let id, let registration, _):
            core.machine { $0.groups.group(id, of: registration)?.isKept ?? true }
        }
    }

    private func remove(from core: RegistryCore) {
        switch self.subject {
        case .service(let id): RegistryStop(core).remove(id)
        case .observer(let id): EventDelivery(core).close(id)
        case .group(let id, let registration, _):
            if core.machine({ $0.groups.group(id, of: registration) != nil }) { RegistryStop(core).remove(group: id) }
        }
    }
}
