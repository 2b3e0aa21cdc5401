/// The registration of a service, a nested registry or an observer; releasing it removes the registered object.
public final class Registration: Sendable {
    enum Subject: Sendable {
        case service(ServiceID)
        case observer(ServiceID)
        /// A nested registry. It can be registered again, so its registration has an identity of its own.
        case group(ServiceID, registration: ServiceID, members: [ServiceID])
    }

    private let subject: Subject
    private weak let core: RegistryCore?

    init(_ subject: Subject, _ core: RegistryCore) {
        self.subject = subject
        self.core = core
    }

    deinit { self.remove() }

    /// Removes the registered object: it gets no further event, and is stopped in the background.
    public func cancel() {
        self.core?.release(self)
        self.remove()
    }

    /// Removes the registered object, and waits until it has stopped or its budget has passed.
    package func cancelAndDrain() async {
        self.cancel()
        _ = await self.settled()
    }

    /// Keeps the registered object in the registry, even when this registration is released.
    public func keep() { self.core?.keep(self) }

    /// Waits until the service is no longer being started or stopped; `nil` once it was removed.
    ///
    /// Before the registry is started this waits for the start.
    package func settled() async -> ServiceState? {
        guard let core = self.core?.home else { return nil }
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

    private func remove() {
        guard let core = self.core?.home else { return }
        switch self.subject {
        case .service(let id): RegistryStop(core).remove(id)
        case .observer(let id): EventDelivery(core).close(id)
        case .group(let id, let registration, _):
            if core.machine({ $0.groups[id]?.registration == registration }) { RegistryStop(core).remove(group: id) }
        }
    }
}
