internal import Linkspan
public import LinkspanLifecycle

/// A service that fetches data when a notification wakes the app.
public protocol PushResponding: LifecycleService {
    /// Fetches the content that a notification announces.
    ///
    /// - Parameters:
    ///   - notification: the notification.
    ///   - scope: the service's access to its registry.
    /// - Returns: the outcome, which the system uses to plan how often the app is woken.
    /// - Throws: any error, which counts as `failed`.
    func respond(to notification: PushNotification, _ scope: ServiceScope) async throws -> PushOutcome
}

extension PushResponding {
    /// The default limits, with 25 seconds for a fetch: iOS gives an app about 30.
    public var budgets: Budgets { Budgets(handle: .seconds(25)) }
}

/// The outcome of a fetch that a notification asked for.
public enum PushOutcome: Sendable, Hashable {
    /// There was new data.
    case newData
    /// There was none.
    case noData
    /// The fetch failed.
    case failed
}

extension ServiceRegistry {
    /// Delivers a notification: services that adopt ``PushObserving`` get it, those that adopt ``PushResponding`` are
    /// asked all at once.
    ///
    /// - Parameters:
    ///   - notification: the notification.
    ///   - limit: the longest wait; iOS gives an app about 30 s. A service whose own `budgets` have a shorter `handle`
    ///     gets that.
    /// - Returns: `newData` if any service had some, else `failed` if any failed.
    public func deliver(_ notification: PushNotification, within limit: Duration = .seconds(25)) async -> PushOutcome {
        self.emit(PushEvent.received(notification))
        let failed: @Sendable (any PushResponding, String) -> PushOutcome = { _, _ in .failed }
        let outcomes = await self.ask((any PushResponding).self, within: limit, onFault: failed) { service, scope in
            try await service.respond(to: notification, scope)
        }
        if outcomes.contains(.newData) { return .newData }
        return outcomes.contains(.failed) ? .failed : .noData
    }
}
