/// What happens to the application as the platform sees it; servers send the same by Unix signals.
@nonexhaustive
public enum AppEvent: Sendable, Hashable {
    /// The application was launched; the reason is text such as `user`, `push`, `background`.
    case launched(reason: String)
    /// The application is in front and gets input.
    case didBecomeActive
    /// The application is about to lose input.
    case willResignActive
    /// The application is about to be seen again, after the time it was away if known.
    case willEnterForeground(away: Duration?)
    /// The application is out of sight and has `grace` left to work if known.
    case didEnterBackground(grace: Duration?)
    /// The application is about to end; the reason is text such as `user`, `system`, `SIGTERM`.
    case willTerminate(reason: String, grace: Duration?)
    /// Files protected by the device's lock became reachable or unreachable.
    case protectedData(available: Bool)
    /// The wall clock jumped, by the offset if known.
    case significantTimeChange(offset: Duration?)

    var retention: Retention {
        switch self {
        case .launched, .didBecomeActive, .willResignActive, .willEnterForeground, .didEnterBackground,
            .willTerminate:
            .keep(.app)
        case .protectedData: .keep(.protectedData)
        case .significantTimeChange: .none
        }
    }
}

extension AppEvent: FamilyEvent {
    /// The family of these events.
    public static var family: EventFamily { .app }

    /// The event among those of all families.
    public var erased: LifecycleEvent { .app(self) }

    /// Picks the event out of those of all families; `nil` if it belongs to another.
    public init?(_ event: LifecycleEvent) {
        guard case .app(let own) = event else {
            return nil
        }
        self = own
    }
}
