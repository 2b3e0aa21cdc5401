public import Foundation
internal import Linkspan
public import LinkspanLifecycle
internal import LinkspanRuntime

/// Forwards calls of an app's delegate, or of SwiftUI's modifiers, to the services of a registry.
///
/// So the delegate of an app with many features stays one line a method, and each feature is a service of its own:
///
/// ```swift
/// let forwarder = AppForwarder()
/// catalog.add(.appEvents(forwarder))
///
/// // In application(_:didRegisterForRemoteNotificationsWithDeviceToken:)
/// forwarder.registered(deviceToken: token)
/// ```
///
/// It is a service itself: put it into the plan with `ServiceFactory.appEvents(_:)`. Being the last to
/// start, it keeps earlier events, such as the link that has launched the app, until the other services are ready; at
/// most 256 events.
public final class AppForwarder: LifecycleService {
    /// The name of the service.
    public let name: ServiceName = "appevents"
    /// Behind all other services, so that they are there when it begins to forward.
    public let placement = Placement(phase: .observer, priority: -1_000_000)

    private enum Input: Sendable {
        case event(@Sendable (ServiceScope) -> Void)
        case phase(AppPhase, ContinuousClock.Instant)
    }

    private struct State: Sendable {
        /// The inputs that have not been forwarded, the oldest first.
        var waiting: [Input] = []
        var tracker = AppPhaseTracker()
        /// Wakes the latest run; a stream serves one run only.
        var bell: AsyncStream<Void>.Continuation?
    }

    /// The most inputs that wait.
    private static let limit = 256

    // Guards the waiting events: the app's threads contend with the run.
    private let state = Lock(State())

    /// Makes a forwarder.
    public init() {}

    /// Forwards events until the service stops; the next run begins with those that arrived in between.
    public func run(_ scope: ServiceScope) async throws {
        let (rings, bell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.state.withLock { $0.bell = bell }
        bell.yield()
        for await _ in rings {
            while !Task.isCancelled, let input = self.next() { self.forward(input, scope) }
        }
    }

    private func next() -> Input? { self.state.withLock { $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() } }

    private func forward(_ input: Input, _ scope: ServiceScope) {
        switch input {
        case .event(let emit): emit(scope)
        case .phase(let phase, let time):
            for event in self.state.withLock({ $0.tracker.moved(to: phase, now: time) }) { try? scope.emit(event) }
        }
    }

    private func add(_ input: Input) {
        let bell = self.state.withLock { state in
            if state.waiting.count == Self.limit { state.waiting.removeFirst() }
            state.waiting.append(input)
            return state.bell
        }
        bell?.yield()
    }

    /// Forwards an event of any family.
    ///
    /// - Parameter event: the event.
    public func forward(_ event: some LifecycleEvent) {
        self.add(.event { try? $0.emit(event) })
    }

    /// Forwards the phase of the app or of its scene; use it, or the service `app`, but not both.
    ///
    /// - Parameter phase: the phase.
    public func moved(to phase: AppPhase) { self.add(.phase(phase, .now)) }

    /// Forwards the token of the device: `application(_:didRegisterForRemoteNotificationsWithDeviceToken:)`.
    ///
    /// - Parameter token: the token.
    public func registered(deviceToken token: Data) { self.forward(PushEvent.registered(PushToken(token))) }

    /// Forwards that there is no token: `application(_:didFailToRegisterForRemoteNotificationsWithError:)`.
    ///
    /// - Parameter error: the reason.
    public func registrationFailed(_ error: any Error) { self.forward(PushEvent.registrationFailed("\(error)")) }

    /// Forwards a notification that has arrived.
    ///
    /// Where the system expects the result, call `deliver(_:within:)` of the registry instead.
    ///
    /// - Parameter notification: the notification.
    public func received(_ notification: PushNotification) { self.forward(PushEvent.received(notification)) }

    /// Forwards the action that the user has chosen: `userNotificationCenter(_:didReceive:withCompletionHandler:)`.
    ///
    /// - Parameters:
    ///   - notification: the notification.
    ///   - action: the identifier of the action.
    public func opened(_ notification: PushNotification, action: String) {
        self.forward(PushEvent.opened(notification, action: action))
    }

    /// Forwards a link: `application(_:open:options:)`, `scene(_:openURLContexts:)`, `onOpenURL`.
    ///
    /// - Parameters:
    ///   - url: the link.
    ///   - origin: how the link was opened.
    public func open(_ url: URL, origin: DeepLinkEvent.Origin = .scheme) {
        self.forward(DeepLinkEvent(url: url.absoluteString, origin: origin))
    }
}

extension PushNotification {
    /// Makes a notification of a delegate's dictionary; nil when that is not one of JSON.
    ///
    /// - Parameters:
    ///   - id: the identity that the system has given to it, if known.
    ///   - userInfo: the dictionary.
    public init?(id: String? = nil, userInfo: [AnyHashable: Any]) {
        guard JSONSerialization.isValidJSONObject(userInfo),
            let bytes = try? JSONSerialization.data(withJSONObject: userInfo),
            let payload = try? PayloadValue(json: String(decoding: bytes, as: UTF8.self))
        else { return nil }
        self.init(id: id, payload: payload)
    }
}
