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

    /// The application's phase.
    public var retention: Retention { .keep(subject: "app") }
}

extension AppEvent: LifecycleEvent {
    /// `app`.
    public static var familyName: String { "app" }

    /// The latest of each state is kept.
    public static var delivery: EventDelivery { .states }

    /// Hands an event to an observer.
    public static func deliver(
        _ event: Stamped<Self>, to observer: any AppObserving, _ scope: ServiceScope
    ) async throws {
        try await observer.on(event, scope)
    }
}
