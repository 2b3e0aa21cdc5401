internal import LinkspanRuntime

/// The receiver of a mailbox's events.
protocol EventReceiver: Sendable {
    /// Hands one event over; false when the receiver has gone.
    func deliver(_ stamped: Stamped<any LifecycleEvent>, _ scope: ServiceScope) async throws -> Bool
}

/// A service, whose handler is the one closest to the event.
struct ServiceReceiver: EventReceiver {
    let service: any LifecycleService

    func deliver(_ stamped: Stamped<any LifecycleEvent>, _ scope: ServiceScope) async throws -> Bool {
        try await self.deliver(stamped.event, stamped, scope)
        return true
    }

    private func deliver<Event: LifecycleEvent>(
        _ event: Event, _ stamped: Stamped<any LifecycleEvent>, _ scope: ServiceScope
    ) async throws {
        if let observer = self.service as? Event.Observer {
            try await Event.family.deliver(observer, stamped.with(event), scope)
        } else if let observer = self.service as? any AnyEventObserving {
            try await observer.on(stamped, scope)
        }
    }
}

/// A closure that is called for as long as an object lives.
struct WeakReceiver<Object: AnyObject & Sendable, Event: LifecycleEvent>: EventReceiver {
    let object: WeakReference<Object>
    let call: @Sendable (Object, Stamped<Event>) async -> Void

    func deliver(_ stamped: Stamped<any LifecycleEvent>, _ scope: ServiceScope) async throws -> Bool {
        guard let event = stamped.event as? Event else { return true }
        guard let object = self.object.object else { return false }
        await self.call(object, stamped.with(event))
        return true
    }
}
