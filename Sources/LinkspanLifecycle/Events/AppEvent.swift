/// A change of the application's phase, as the platform reports it; on servers, a Unix signal.
@nonexhaustive
public enum AppEvent: Sendable, Hashable {
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
}

extension AppEvent: LifecycleEvent {
    /// Family `app`; the latest of each state is kept.
    public static var family: EventFamily<Self, any AppObserving> {
        .states("app", retention: { _ in .keep(subject: "app") }) { try await $0.on($1, $2) }
    }
}

/// A service that follows the application's phases.
public protocol AppObserving: LifecycleService {
    /// Handles one event; an error becomes a ``FaultEvent`` and does not affect other services.
    func on(_ event: Stamped<AppEvent>, _ scope: ServiceScope) async throws
}
