/// The receiver of a mailbox's events.
protocol EventReceiver: Sendable {
    /// Hands one event over; false when there is nobody any more.
    typealias Handler<Event: LifecycleEvent> = @Sendable (Stamped<Event>, ServiceScope) async throws -> Bool

    /// The handler for the events of a family, looked up once for many of them; nil when they do not concern the receiver.
    func handler<Event: LifecycleEvent>(of type: Event.Type) -> Handler<Event>?

    /// Hands the events of a run over; false when there is nobody any more.
    func receive<Event: LifecycleEvent>(_ run: EventRun<Event>) async -> Bool
}

extension EventReceiver {
    func receive<Event: LifecycleEvent>(_ run: EventRun<Event>) async -> Bool { await self.receiveEach(of: run) }

    fileprivate func receiveEach<Event: LifecycleEvent>(of run: EventRun<Event>) async -> Bool {
        // Looked up once: the casts that find it cost more than most handlers.
        guard let handler = self.handler(of: Event.self) else { return await run.forEach { _, _ in true } }
        return await run.forEach(handler)
    }

    /// Hands over an event of any family.
    func deliver(_ stamped: Stamped<any LifecycleEvent>, _ scope: ServiceScope) async throws -> Bool {
        try await self.deliver(stamped.event, stamped, scope)
    }

    private func deliver<Event: LifecycleEvent>(
        _ event: Event, _ stamped: Stamped<any LifecycleEvent>, _ scope: ServiceScope
    ) async throws -> Bool {
        guard let handler = self.handler(of: Event.self) else { return true }
        return try await handler(stamped.with(event), scope)
    }
}

/// A service, whose handler is the one closest to the event.
struct ServiceReceiver: EventReceiver {
    let service: any LifecycleService

    func handler<Event: LifecycleEvent>(of type: Event.Type) -> Handler<Event>? {
        if let observer = self.service as? Event.Observer {
            let deliver = Event.family.deliver
            return { stamped, scope in
                try await deliver(observer, stamped, scope)
                return true
            }
        }
        if let observer = self.service as? any AnyEventObserving {
            return { stamped, scope in
                try await observer.on(stamped.with(stamped.event as any LifecycleEvent), scope)
                return true
            }
        }
        return nil
    }

    func receive<Event: LifecycleEvent>(_ run: EventRun<Event>) async -> Bool {
        guard let observer = self.service as? Event.Observer, let deliver = Event.family.deliverRun else {
            return await self.receiveEach(of: run)
        }
        await deliver(observer, run)
        return true
    }
}

/// A closure that is called for as long as an object lives.
struct WeakReceiver<Object: AnyObject & Sendable, Observed: LifecycleEvent>: EventReceiver {
    let object: WeakReference<Object>
    let call: @Sendable (Object, Stamped<Observed>) async -> Void

    func handler<Event: LifecycleEvent>(of type: Event.Type) -> Handler<Event>? {
        let (reference, call) = (self.object, self.call)
        let handler: Handler<Observed> = { stamped, _ in
            guard let object = reference.object else { return false }
            await call(object, stamped)
            return true
        }
        return handler as? Handler<Event>
    }
}
