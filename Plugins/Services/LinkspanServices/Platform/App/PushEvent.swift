public import Linkspan
public import LinkspanLifecycle

/// News about push notifications: the token of the device, and notifications that arrive.
///
/// Forwarded by an ``AppForwarder`` from an app's delegate. Neither tokens nor payloads are in its descriptions.
@nonexhaustive
public enum PushEvent: Sendable, Hashable {
    /// The system has given the device a token, to be sent to the app's server.
    case registered(PushToken)
    /// The system has given no token, for this reason.
    case registrationFailed(String)
    /// A notification has arrived.
    case received(PushNotification)
    /// The user has chosen an action of a notification; the default one is opening it.
    case opened(PushNotification, action: String)
}

/// The address of a device for push notifications.
public struct PushToken: Sendable, Hashable {
    /// The bytes of the token.
    public var bytes: [UInt8]

    /// Makes a token of its bytes.
    public init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

    /// The token in hexadecimal digits, as most servers expect it.
    ///
    /// The caller is responsible for keeping it out of logs.
    public var hexadecimal: String {
        self.bytes.map { String($0 >> 4, radix: 16) + String($0 & 0xF, radix: 16) }.joined()
    }
}

extension PushToken: CustomStringConvertible {
    /// The length of the token, without the token.
    public var description: String { "push token (\(self.bytes.count) bytes)" }
}

/// A push notification.
public struct PushNotification: Sendable, Hashable {
    /// The identity that the system has given to it, if known.
    public var id: String?
    /// The whole payload, with the section `aps`.
    public var payload: PayloadValue

    /// Makes a notification.
    public init(id: String? = nil, payload: PayloadValue) {
        self.id = id
        self.payload = payload
    }

    /// Whether it was sent to wake the app and not to be shown.
    public var isSilent: Bool {
        guard let aps = self.payload["aps"] else { return true }
        return aps["content-available"]?.int == 1 && aps["alert"] == nil
    }
}

extension PushEvent: LifecycleEvent {
    /// Family `push`; the latest token or failure is kept for services that start later.
    public static var family: EventFamily<Self, any PushObserving> {
        .states("push", retention: { $0.retention }) { try await $0.on($1, $2) }
    }

    private var retention: Retention {
        switch self {
        case .registered, .registrationFailed: .keep(subject: "push", aspect: "token")
        case .received, .opened: .none
        }
    }
}

/// A service that follows push notifications.
public protocol PushObserving: LifecycleService {
    /// Handles one event; an error becomes a `FaultEvent` and does not affect other services.
    func on(_ event: Stamped<PushEvent>, _ scope: ServiceScope) async throws
}
