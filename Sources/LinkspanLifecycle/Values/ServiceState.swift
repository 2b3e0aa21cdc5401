/// The state of a service in its registry.
public enum ServiceState: Sendable, Hashable {
    /// Known, and not started yet.
    case registered
    /// Being started.
    case starting
    /// Started; it gets events.
    case ready
    /// Asked to take no new work.
    case quiescing
    /// Being stopped.
    case stopping
    /// Stopped.
    case stopped
    /// Its start or its background work threw, with this text.
    case failed(String)
    /// Not started because of the service of this path, which it needs.
    case skipped(because: String)
    /// These steps did not return in time; they may still be going on.
    case abandoned(during: [LifecycleStep])
}

/// A kind of call to a service.
public enum LifecycleStep: Sendable, Hashable {
    /// Making it ready.
    case start
    /// Its background work.
    case run
    /// Handling an event.
    case handle
    /// Flushing before the stop.
    case quiesce
    /// Releasing its resources.
    case stop
}
