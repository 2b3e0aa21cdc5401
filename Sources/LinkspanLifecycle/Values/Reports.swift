/// The result of a start.
public struct StartReport: Sendable, Hashable {
    /// The paths in groups: each group started together, after the group before it.
    public var waves: [[String]]
    /// The services the registry works without, and why.
    public var degraded: [String: ServiceState]
    /// The duration of the start.
    public var time: Duration

    /// Whether every service is ready.
    public var isComplete: Bool { self.degraded.isEmpty }
}

/// The result of a stop, with one row for every service.
public struct ShutdownReport: Sendable, Hashable {
    /// The fate of one service.
    public enum Fate: Sendable, Hashable {
        /// Stopped.
        case stopped
        /// Stopped with an error, described by this text.
        case failed(String)
        /// These steps did not return in time; they may still be going on.
        case abandoned(during: [LifecycleStep])
        /// Never started.
        case notStarted
        /// Skipped, because of the service of this path.
        case skipped(because: String)
    }

    /// One service.
    public struct Row: Sendable, Hashable {
        /// The path of the service.
        public var path: String
        /// Its fate.
        public var fate: Fate
        /// The duration of quiesce and stop together.
        public var time: Duration
        /// The number of events that it was never given.
        public var undelivered: Int
    }

    /// The services in the order in which they were stopped, then those that were not.
    public var rows: [Row]
    /// The duration of the shutdown.
    public var time: Duration

    /// The fate of the service of `path`.
    public func fate(of path: String) -> Fate? {
        self.rows.first { $0.path == path }?.fate
    }

    /// Whether every service stopped, or had nothing to stop.
    public var isClean: Bool {
        self.rows.allSatisfy { row in
            switch row.fate {
            case .stopped, .notStarted, .skipped: true
            case .failed, .abandoned: false
            }
        }
    }
}

/// The result of an event that the emitter waited for.
public struct BarrierReport: Sendable, Hashable {
    /// The fate of the event at one service.
    public enum Fate: Sendable, Hashable {
        /// Handled.
        case handled
        /// The handler threw, with this text.
        case failed(String)
        /// Not handled in time; it may still be.
        case late
        /// The service was removed, or its mailbox overflowed.
        case lost
    }

    /// The number of the event.
    public var seq: UInt64
    /// The fates by path, of the services that were ready.
    public var fates: [String: Fate]

    /// Whether every service handled it.
    public var isComplete: Bool { self.fates.values.allSatisfy { $0 == .handled } }
}
