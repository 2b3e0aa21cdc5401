public import Foundation
internal import Linkspan
public import LinkspanLifecycle

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
/// start, it keeps what comes earlier, such as the link that has launched the app, until the other services are ready; at
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

    private let inputs: AsyncStream<Input>
    private let input: AsyncStream<Input>.Continuation

    /// Makes a forwarder.
    public init() {
        (self.inputs, self.input) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(256))
    }

    /// Forwards until the service stops; it can run once.
    public func run(_ scope: ServiceScope) async throws {
        var tracker = AppPhaseTracker()
        for await input in self.inputs {
            switch input {
            case .event(let emit): emit(scope)
            case .phase(let phase, let time):
                for event in tracker.moved(to: phase, now: time) { try? scope.emit(event) }
            }
        }
    }

    /// Forwards an event of any family.
    ///
    /// - Parameter event: the event.
    public func forward(_ event: some LifecycleEvent) {
        self.input.yield(.event { try? $0.emit(event) })
    }

    /// Forwards the phase of the app or of its scene; use it, or the service `app`, but not both.
    ///
    /// - Parameter phase: the phase.
    public func moved(to phase: AppPhase) { self.input.yield(.phase(phase, .now)) }

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
    /// Where the system wants to know what it brought, call `deliver(_:within:)` of the registry instead.
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
    ///   - origin: the way in which it has come.
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
