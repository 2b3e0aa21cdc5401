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
        guard let core = self.core.object?.home, !core.isKept(self.subject) else { return }
        core.remove(self.subject)
    }

    /// Removes the registered object: it gets no further event, and is stopped in the background.
    public func cancel() {
        self.core.object?.home.remove(self.subject)
    }

    /// Removes the registered object, and waits until it has stopped or its budget has passed.
    public func cancelAndDrain() async {
        self.cancel()
        _ = await self.settled()
    }

    /// Keeps the registered object in the registry, even when this registration is released.
    public func keep() {
        self.core.object?.home.keep(self.subject)
    }

    /// Waits until the service is no longer being started or stopped; `nil` once it was removed.
    ///
    /// Before the registry is started this waits for the start.
    public func settled() async -> ServiceState? {
        switch self.subject {
        case .service(let id): return await self.core.object?.home.settled(id)
        case .observer(let id):
            await self.core.object?.home.idle(id, within: .seconds(1))
            return nil
        case .group(_, _, let members):
            var last: ServiceState?
            for id in members {
                last = await self.core.object?.home.settled(id) ?? last
            }
            return last
        }
    }
}

extension RegistryCore {
    func isKept(_ subject: Registration.Subject) -> Bool {
        switch subject {
        case .service(let id): self.machine { $0.members[id]?.entry.isKept ?? true }
        case .observer(let id): self.fanout { $0.isKept(id) }
        case .group(let id, let registration, _):
            self.machine { $0.group(id, of: registration)?.isKept ?? true }
        }
    }

    func keep(_ subject: Registration.Subject) {
        switch subject {
        case .service(let id): self.machine { $0.keep(id) }
        case .observer(let id): self.fanout { $0.keep(id) }
        case .group(let id, let registration, _): self.machine { $0.keep(group: id, of: registration) }
        }
    }

    func remove(_ subject: Registration.Subject) {
        switch subject {
        case .service(let id): self.remove(id)
        case .observer(let id): self.close(id)
        case .group(let id, let registration, _):
            if self.machine({ $0.group(id, of: registration) != nil }) { self.remove(group: id) }
        }
    }
}
