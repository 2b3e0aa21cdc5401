private import CLibwebsockets
internal import LinkspanRuntime

/// Wakes a sleeping loop, from any thread, and never one that is going down.
final class Waker: Sendable {
    /// Where the loop is woken, while it has a poller: between the loop, which closes it, and threads that wake it.
    private let place = Lock<CInt?>(nil)

    func start(_ place: CInt) { self.place.withLock { $0 = place } }

    /// The system is called under the lock, or the number could be another descriptor's by then.
    func wake() {
        self.place.withLock { place in
            if let place { clws_poller_wake(place) }
        }
    }

    func stop() {
        self.place.withLock { $0 = nil }
    }
}
