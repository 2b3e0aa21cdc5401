/// A failure that is not returned to a caller.
public struct FaultEvent: Sendable, Hashable {
    /// The kind of a fault; the list may grow.
    @nonexhaustive
    public enum Code: String, Sendable, Hashable {
        /// A service could not start.
        case startFailed
        /// A handler threw.
        case handlerFailed
        /// A service's background work threw.
        case runFailed
        /// A call took longer than its budget.
        case limitHit
        /// A mailbox was full and lost events.
        case mailboxOverflow
    }

    /// The severity of a fault.
    public enum Severity: Sendable, Hashable {
        /// Something does not work as it should.
        case warning
        /// Something does not work.
        case error
    }

    /// The origin: the path of a service, or any name.
    public var path: String
    /// The kind of the fault.
    public var code: Code
    /// A description of the fault, for a log line.
    public var message: String
    /// The severity of the fault.
    public var severity: Severity
    /// A remedy, such as the configuration key to change.
    public var hint: String?

    /// Makes an event.
    public init(path: String, code: Code, message: String, severity: Severity = .warning, hint: String? = nil) {
        self.path = path
        self.code = code
        self.message = message
        self.severity = severity
        self.hint = hint
    }
}

extension FaultEvent: LifecycleEvent {
    /// Family `fault`.
    public static var family: EventFamily<Self, any FaultObserving> {
        .news("fault") { try await $0.on($1, $2) }
    }
}

/// A service that follows faults, those of the registry included.
public protocol FaultObserving: LifecycleService {
    /// Handles one event; an error makes no new fault, which would come back here.
    func on(_ event: Stamped<FaultEvent>, _ scope: ServiceScope) async throws
}
