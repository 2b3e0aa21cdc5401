internal import LinkspanRuntime

/// Lets several threads call a probe, one at a time.
final class LockedProbe: Sendable {
    // Reached only while the lock is held.
    nonisolated(unsafe) private let probe: any ConnectionProbe
    private let depth = Lock((depth: 0, limit: 0))

    init(_ probe: any ConnectionProbe) { self.probe = probe }

    var hasQueue: Bool { self.depth.withLock { $0.depth > 0 } }

    func queueChanged(depth: Int, limit: Int) {
        self.depth.withLock { last in
            guard last != (depth, limit) else { return }
            last = (depth, limit)
            self.probe.queueChanged(depth: depth, limit: limit)
        }
    }

    func moved(to connection: ObservedConnection) { self.depth.withLock { _ in self.probe.moved(to: connection) } }
    func attempting(_ attempt: Int) { self.depth.withLock { _ in self.probe.attempting(attempt) } }
    func changed(_ change: StateChange) { self.depth.withLock { _ in self.probe.changed(change) } }
    func leaving(_ command: Command) { self.depth.withLock { _ in self.probe.leaving(command) } }
    func sent(_ command: Command) { self.depth.withLock { _ in self.probe.sent(command) } }
    func received(_ event: String, bytes: Int) { self.depth.withLock { _ in self.probe.received(event, bytes: bytes) } }
    func finished(_ command: Command, _ outcome: Result<Payload, LinkspanError>) {
        self.depth.withLock { _ in self.probe.finished(command, outcome) }
    }
    func credentials(_ event: CredentialEvent) { self.depth.withLock { _ in self.probe.credentials(event) } }
}
