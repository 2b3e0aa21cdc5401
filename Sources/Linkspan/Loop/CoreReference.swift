internal import LinkspanRuntime

/// A core in the hands of any thread: it can be reached on its executor alone.
// Unchecked because the compiler cannot see which executor runs a job; debug builds check it on each access.
struct CoreReference: @unchecked Sendable {
    private let core: ConnectionCore

    init(_ core: ConnectionCore) { self.core = core }

    /// The core, on its executor.
    var onExecutor: ConnectionCore {
        assert(self.core.executor.isCurrent, "reached from outside the connection's executor")
        return self.core
    }

    /// The core when the caller is one of its callbacks, or is called by one.
    ///
    /// Nil inside a call on a link: what a link or an observer asks for meanwhile happens after the turn.
    var inTurn: ConnectionCore? { self.isReachable ? self.core : nil }

    /// The same for a call that may take back what other threads have asked for: behind all that has arrived from them.
    var inTurnBehindArrivals: ConnectionCore? {
        guard let core = self.inTurn else { return nil }
        core.takeArrived()
        return core
    }

    /// Whether the caller is one of its callbacks, or is called by one, and no link is being called.
    var isReachable: Bool { CurrentTurn.isOf(self.core) && !self.core.isCallingLink }

    /// Whether the caller is inside a turn of the core.
    var isInTurn: Bool { CurrentTurn.isOf(self.core) }
}
