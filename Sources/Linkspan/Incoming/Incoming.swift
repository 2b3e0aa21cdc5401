/// The receiving side of a connection: who gets its messages and changes, and whether anybody wants it to read no further.
struct Incoming {
    let router = EventRouter()
    var observers = HandlerList<StatusChange>()
    var slowListeners: SlowListeners
    /// The listeners that want nothing to be read for now.
    private var pausing: Set<UInt64> = []

    init(slowListenerLimit: Duration) { self.slowListeners = SlowListeners(limit: slowListenerLimit) }

    /// Whether a listener wants nothing to be read for now.
    var wantsPause: Bool { !self.pausing.isEmpty }

    /// Notes whether a listener wants nothing to be read for now.
    mutating func setPaused(_ isPaused: Bool, by listener: UInt64) {
        if isPaused { self.pausing.insert(listener) } else { self.pausing.remove(listener) }
    }

    /// Drops all listeners.
    mutating func finish() {
        self.router.finish()
        self.pausing = []
    }
}
