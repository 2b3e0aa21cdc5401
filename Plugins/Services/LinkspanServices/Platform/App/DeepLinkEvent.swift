public import LinkspanLifecycle

/// A link that opens the app at a place of its own.
///
/// Forwarded by an ``AppForwarder``. The link comes from outside the app: check it before you act on it.
public struct DeepLinkEvent: Sendable, Hashable {
    /// How a link was opened.
    @nonexhaustive
    public enum Origin: Sendable, Hashable {
        /// By a scheme of the app's own.
        case scheme
        /// As a universal link, whose site has named the app.
        case universal
        /// By a push notification.
        case push
    }

    /// The link.
    public var url: String
    /// How the link was opened.
    public var origin: Origin

    /// Makes an event.
    public init(url: String, origin: Origin = .scheme) {
        self.url = url
        self.origin = origin
    }
}

extension DeepLinkEvent: CustomStringConvertible {
    /// The scheme of the link, without the rest, which may hold secrets.
    public var description: String { "deep link (\(self.url.prefix { $0 != ":" }):)" }
}

extension DeepLinkEvent: LifecycleEvent {
    /// Family `deepLink`; each is delivered once.
    public static var family: EventFamily<Self, any DeepLinkObserving> {
        .news("deepLink") { try await $0.on($1, $2) }
    }
}

/// A service that follows links into the app.
public protocol DeepLinkObserving: LifecycleService {
    /// Handles one event; an error becomes a `FaultEvent` and does not affect other services.
    func on(_ event: Stamped<DeepLinkEvent>, _ scope: ServiceScope) async throws
}
