#if LWS
internal import CLibwebsockets
internal import LinkspanNetwork
internal import LinkspanRuntime

/// An object that owns a descriptor which the loop watches.
class Watched {
    /// The descriptor is ready for these `clws_ready` events.
    func ready(_ events: CInt) {}

    /// The turn ends for which a further read was asked.
    func readAgain() {}
}

/// The descriptors of a poller, which are closed when neither it nor a thread that wakes it needs them.
private final class PollerDescriptors: Sendable {
    private let raw: clws_poller

    init(_ raw: clws_poller) { self.raw = raw }

    deinit { clws_poller_close(self.raw) }

    func wake() { clws_poller_wake(self.raw.wake) }
}

/// Waits for readiness of the loop's descriptors: by epoll, or by kqueue where the system has that.
///
/// A look costs as much as there are descriptors that are ready, however many are watched.
final class Poller {
    /// The descriptors that were looked at so far, each time counted.
    var lookCount = 0
    // Only the system is called while it is used.
    @exclusivity(unchecked) private var raw: clws_poller
    /// Nil once it is closed.
    private var descriptors: PollerDescriptors?
    private let ready: UnsafeMutablePointer<clws_ready>
    // Looked at in each turn: nothing is called while they change.
    @exclusivity(unchecked) private var unread: [Watched] = []
    /// The owners of descriptors that were closed in this turn, of which the system may yet tell.
    @exclusivity(unchecked) private var departed: [Watched] = []

    init?() {
        var raw = clws_poller()
        guard clws_poller_open(&raw) else { return nil }
        self.raw = raw
        self.descriptors = PollerDescriptors(raw)
        self.ready = .allocate(capacity: Int(clws_ready_batch))
    }

    deinit { self.ready.deallocate() }

    /// Gives the system's part back; no descriptor may be watched any more.
    func close() {
        self.descriptors = nil
        self.departed = []
    }

    /// Its own descriptor, which can be read while something is ready.
    var descriptor: CInt { self.raw.descriptor }

    /// Wakes it, from any thread, also after its end.
    var wake: LoopMailbox.Wake { { [descriptors] in descriptors?.wake() } }

    /// Watches for `events` what was watched for `former`; returns false when the system has no memory for it.
    ///
    /// The owner must live until it is unwatched, and to the end of that turn.
    func watch(_ descriptor: CInt, of owner: Watched, former: CInt, _ events: CInt) -> Bool {
        clws_poller_watch(&self.raw, descriptor, Unmanaged.passUnretained(owner).toOpaque(), former, events)
    }

    /// Forgets a descriptor, which is about to be closed.
    func unwatch(_ descriptor: CInt, of owner: Watched, former: CInt) {
        clws_poller_unwatch(&self.raw, descriptor, former)
        self.departed.append(owner)
    }

    /// Calls ``Watched/readAgain()`` at the end of this turn: there is something to read of which the system does not tell.
    func readLater(_ owner: Watched) { self.unread.append(owner) }

    var hasUnread: Bool { !self.unread.isEmpty }

    /// Has those read that asked for it, once each; those that ask again wait for the next turn.
    func endTurn() {
        if !self.unread.isEmpty {
            let unread = self.unread
            self.unread.removeAll(keepingCapacity: true)
            for owner in unread { owner.readAgain() }
        }
        self.departed.removeAll(keepingCapacity: true)
    }

    /// Waits until something is ready or the poller is woken, for a time at most, and tells the owners.
    ///
    /// - Parameter timeout: how long; nil for ever.
    func wait(_ timeout: Duration?) {
        let count = Int(clws_poller_wait(&self.raw, self.ready, timeout.map { max(0, $0.nanoseconds) } ?? -1))
        self.lookCount += count
        for event in UnsafeBufferPointer(start: self.ready, count: count) {
            guard let owner = event.owner else { continue }
            Unmanaged<Watched>.fromOpaque(owner).takeUnretainedValue().ready(event.events)
        }
    }
}
#endif
