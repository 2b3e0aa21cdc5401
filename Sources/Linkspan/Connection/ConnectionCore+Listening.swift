extension ConnectionCore {
    func add(_ listener: EventListener, event: String?) {
        if self.router.add(listener, event: event), let event { self.effects.append(.replay(event: event)) }
    }

    func addOnce(_ listener: EventListener, event: String) {
        guard let held = self.router.addOnce(listener, event: event) else { return }
        self.effects.append(.answer { listener.hear(held) })
    }

    /// Tells those that listen to outgoing messages at the moment of their turn.
    func tellOutgoing(_ message: OutgoingMessage) {
        for (id, handler) in self.outgoingListeners where self.outgoingListeners.contains(where: { $0.id == id }) {
            handler(message)
        }
    }

    /// Lets go of all listeners.
    func finishListening() {
        self.router.finish()
        // Kept until after the access: listeners may hold anything.
        withExtendedLifetime(self.outgoingListeners) { self.outgoingListeners = [] }
    }
}
