/// What happens around the connections, so that the keeper need not wait for a link to notice.
///
/// Signals come from the events of a service registry, from event sources that a manager follows, or from the app itself;
/// see ``ConnectionManager/signal(_:)``.
public enum KeeperSignal: Sendable, Hashable, CaseIterable {
    /// Traffic cannot flow any more: what is up is dropped now.
    case pathLost
    /// Traffic can flow again, or another way: what waits is tried now.
    case pathAvailable
    /// The user sees the app: what was suspended comes back, and what waits is tried now.
    case foreground
    /// The user does not see the app any more: after a while connections are suspended.
    ///
    /// Rules are told only then, and only if the app is still in the background.
    case background
}

/// What the keeper has heard: where the app stands, and the signals that the rules have yet to be told of.
///
/// A value: ``ConnectionManager`` keeps it under its lock. Signals of several threads line up, so that the rules hear them
/// in the order in which they were decided: otherwise the end of a linger could overtake the app's return.
struct KeeperSurroundings: Sendable {
    private enum Phase {
        case foreground
        case lingering
        case background
    }

    private var phase = Phase.foreground
    private var stay: UInt64 = 0
    private var waiting: [KeeperSignal] = []
    private var isTelling = false

    var isInBackground: Bool { self.phase == .background }

    /// Lines a signal up; true when the caller has to tell the rules, one signal after the other.
    mutating func add(_ signal: KeeperSignal) -> Bool {
        if signal == .foreground { self.phase = .foreground }
        self.waiting.append(signal)
        defer { self.isTelling = true }
        return !self.isTelling
    }

    /// The signal to tell next; nil when the telling has ended.
    mutating func next() -> KeeperSignal? {
        self.isTelling = !self.waiting.isEmpty
        return self.waiting.isEmpty ? nil : self.waiting.removeFirst()
    }

    /// The app goes to the background.
    ///
    /// - Returns: the number of this stay there, for ``lingerEnded(_:)``; nil when it was there already.
    mutating func enterBackground() -> UInt64? {
        guard self.phase == .foreground else { return nil }
        self.phase = .lingering
        self.stay += 1
        return self.stay
    }

    /// The linger of a stay has passed, which counts unless the app has come back meanwhile; see ``add(_:)``.
    mutating func lingerEnded(_ stay: UInt64) -> Bool {
        guard self.phase == .lingering, self.stay == stay else { return false }
        self.phase = .background
        return self.add(.background)
    }
}
