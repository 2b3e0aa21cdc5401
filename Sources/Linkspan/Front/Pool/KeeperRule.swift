/// One link in the keeper's chain of responsibility.
///
/// For each pooled connection the keeper asks its rules in order; the first that can execute does, and the chain stops.
package protocol KeeperRule: Sendable {
    /// Whether the rule has something to do for the connection.
    func canExecute(_ kept: KeptConnection) -> Bool
    /// Does it. Must not block.
    func execute(_ kept: KeptConnection)
}

/// A pooled connection as a keeper rule sees it.
package struct KeptConnection: Sendable {
    /// The connection.
    let connection: PooledConnection
    /// Whether anyone holds it.
    package let isOccupied: Bool
    /// The time since the last holder released the connection; zero when it is held.
    package let idleFor: Duration
    /// The time the connection may stay up without a holder.
    package let idleTimeout: Duration
    /// The signal that caused this check; nil for any other cause.
    package internal(set) var signal: KeeperSignal?
    /// Whether the app has been in the background for longer than the manager's idle timeout.
    package internal(set) var isInBackground = false
    /// Whether its holders have yet to open it.
    var isUnopened = false
    let leavePool: @Sendable () -> Bool

    /// Removes the connection from the pool, unless it has a holder since; false then.
    ///
    /// A rule that ends a connection does this first: later holders get a new connection, and none gets one
    /// that is about to end.
    package func withdraw() -> Bool { self.leavePool() }
}

/// Occupied, opened and never asked to connect: connects.
///
/// What its holders have yet to open waits for them: its messages would be missed. What was connected once brings itself
/// back; what was disconnected by request or for good stays so.
struct ReconnectRule: KeeperRule {
    /// Whether the connection is occupied, opened, new and idle.
    func canExecute(_ kept: KeptConnection) -> Bool {
        kept.isOccupied && !kept.isUnopened && kept.connection.state == .created
            && kept.connection.status.progress == .idle
    }

    /// Connects it.
    func execute(_ kept: KeptConnection) {
        // Refused only when someone else has just connected it, which is as good.
        try? kept.connection.connect()
    }
}

/// Unoccupied for longer than its idle timeout, and not down: goes down and is released.
struct DisconnectRule: KeeperRule {
    /// Whether the connection is idle for long enough and not yet disconnected.
    func canExecute(_ kept: KeptConnection) -> Bool {
        let isUp = kept.connection.state != .disconnected && kept.connection.state != .released
        return !kept.isOccupied && isUp && kept.idleFor >= kept.idleTimeout
    }

    /// Takes it out of the pool, and retires and releases it.
    func execute(_ kept: KeptConnection) {
        if kept.withdraw() { kept.connection.end(nil) }
    }
}

/// Unoccupied and disconnected: leaves the pool and is released.
struct ReleaseRule: KeeperRule {
    /// Whether the connection is unoccupied and disconnected.
    func canExecute(_ kept: KeptConnection) -> Bool {
        !kept.isOccupied && [.disconnected, .released].contains(kept.connection.state)
    }

    /// Takes it out of the pool and releases it.
    func execute(_ kept: KeptConnection) {
        if kept.withdraw() { kept.connection.end(nil) }
    }
}
