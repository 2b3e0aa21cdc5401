/// Changes outside the connections that the keeper reacts to before a link notices them.
///
/// Signals come from the events of a service registry, or from event sources that a manager follows.
package enum KeeperSignal: Sendable, Hashable, CaseIterable {
    /// The network path was lost: open links are dropped now.
    case pathLost
    /// A network path is available, or another one: waiting connections are tried now.
    case pathAvailable
    /// The app is in the foreground: suspended and waiting connections are tried now.
    case foreground
    /// The user does not see the app any more: after a while connections are suspended.
    ///
    /// Rules get the signal only then, and only if the app is still in the background.
    case background
}

/// The occasion on which the keeper looks at the pool.
enum KeeperOccasion: Sendable, Hashable {
    /// The period of a rule has passed.
    case look
    /// A connection's holder has left, or nobody holds it and something is due: the others have nothing to do with that.
    case visit(ObjectIdentifier)
    case signal(KeeperSignal)
}

/// The state of the keeper: the phase of the app, the costs of the network path, and the occasions that it has yet to look at
/// the pool for.
///
/// A value: ``SharedPool`` keeps it under its lock. Occasions of several threads line up, so that the rules hear
/// of them one at a time and in the order in which they were decided: otherwise the end of the background timeout could
/// overtake the app's return, and one thread could connect what another is releasing.
struct KeeperSurroundings: Sendable {
    private enum Phase {
        case foreground
        case goingToBackground
        case background
    }

    private var phase = Phase.foreground
    /// Whether connections save data, because of the network path.
    var savesData = false
    private var stay: UInt64 = 0
    private var waiting: [KeeperOccasion] = []
    /// Whether a thread is applying the keeper's rules to the pool, or has committed to do so.
    private(set) var isLooking = false

    var isInBackground: Bool { self.phase == .background }

    /// Lines an occasion up; true when the caller has to look, for one occasion after the other.
    mutating func add(_ occasion: KeeperOccasion) -> Bool {
        if occasion == .signal(.foreground) { self.phase = .foreground }
        if occasion != .look || self.waiting.last != .look { self.waiting.append(occasion) }
        defer { self.isLooking = true }
        return !self.isLooking
    }

    /// The next occasion; nil when the looking has ended.
    mutating func next() -> KeeperOccasion? {
        self.isLooking = !self.waiting.isEmpty
        return self.waiting.isEmpty ? nil : self.waiting.removeFirst()
    }

    /// The app goes to the background.
    ///
    /// - Returns: the number of this stay there, for ``backgroundTimeoutPassed(_:)``; nil when it was there already.
    mutating func enterBackground() -> UInt64? {
        guard self.phase == .foreground else { return nil }
        self.phase = .goingToBackground
        self.stay += 1
        return self.stay
    }

    /// The background timeout of a stay has passed, which counts unless the app has come back meanwhile; see ``add(_:)``.
    mutating func backgroundTimeoutPassed(_ stay: UInt64) -> Bool {
        guard self.phase == .goingToBackground, self.stay == stay else { return false }
        self.phase = .background
        return self.add(.signal(.background))
    }
}
