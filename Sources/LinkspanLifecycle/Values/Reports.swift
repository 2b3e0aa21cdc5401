/// The result of a start.
public struct StartReport: Sendable, Hashable {
    /// The paths in groups: each group started together, after the group before it.
    public var waves: [[String]]
    /// The services the registry works without, and why.
    public var degraded: [String: ServiceState]
    /// The duration of the start.
    public var time: Duration
}

/// The result of a stop, with one row for every service.
public struct ShutdownReport: Sendable, Hashable {
    /// One service.
    public struct Row: Sendable, Hashable {
        /// The path of the service.
        public var path: String
        /// The state in which it was left; `registered` if it was never started.
        public var fate: ServiceState
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
    public func fate(of path: String) -> ServiceState? {
        self.rows.first { $0.path == path }?.fate
    }

    /// Whether every service stopped, or had nothing to stop.
    public var isClean: Bool {
        self.rows.allSatisfy { row in
            switch row.fate {
            case .stopped, .registered, .skipped: true
            case .starting, .ready, .quiescing, .stopping, .failed, .abandoned: false
            }
        }
    }
}
