/// An event that a registry delivers; its type is its family.
///
/// Any module can declare a family: an event type, and the protocol that a service adopts to hear of it.
///
/// ```swift
/// struct UploadEvent: LifecycleEvent {
///     static let familyName = "upload"
///     var file: String
///     var isComplete: Bool
///
///     static func deliver(
///         _ event: Stamped<Self>, to observer: any UploadObserving, _ scope: ServiceScope
///     ) async throws {
///         try await observer.on(event, scope)
///     }
/// }
///
/// protocol UploadObserving: LifecycleService {
///     func on(_ event: Stamped<UploadEvent>, _ scope: ServiceScope) async throws
/// }
/// ```
public protocol LifecycleEvent: Sendable, Hashable {
    /// The protocol of the services that hear of these events, as an existential type such as `any UploadObserving`.
    associatedtype Observer: Sendable

    /// What the family is called in logs, metrics and faults.
    static var familyName: String { get }

    /// How events of the family reach services.
    static var delivery: EventDelivery { get }

    /// What the event means for services that start later; counts for families with ``EventDelivery/states``.
    var retention: Retention { get }

    /// Hands an event to an observer.
    static func deliver(_ event: Stamped<Self>, to observer: Observer, _ scope: ServiceScope) async throws
}

extension LifecycleEvent {
    /// News.
    public static var delivery: EventDelivery { .news }

    /// Nothing is kept.
    public var retention: Retention { .none }

    /// The family that the type forms.
    static var family: EventFamily { EventFamily(type: ObjectIdentifier(Self.self), name: Self.familyName) }

    /// The family of the event.
    var family: EventFamily { Self.family }
}

/// A family of events: all events of one type.
struct EventFamily: Sendable, Hashable, CustomStringConvertible {
    let type: ObjectIdentifier
    let name: String

    var description: String { self.name }

    static func == (left: Self, right: Self) -> Bool { left.type == right.type }

    func hash(into hasher: inout Hasher) { hasher.combine(self.type) }
}

/// How the events of a family reach services.
public enum EventDelivery: Sendable, Hashable {
    /// One by one, to the services that are there; without any, events are not made.
    case news
    /// One by one; the latest of each state is kept for services that start later, as ``LifecycleEvent/retention``
    /// says.
    case states
    /// Collected for ``ServiceRegistry/Options/batchDelay`` and then handed over together, to the services that are
    /// there.
    ///
    /// For events on the path of every message: emitting one costs no more than appending it.
    case batches
}

/// What a registry keeps of an event for services that start later.
///
/// A subject such as `connection 7` can have several states, which `aspect` tells apart.
public enum Retention: Sendable, Hashable {
    /// Nothing.
    case none
    /// The event, in place of the last one about the same state.
    case keep(subject: String, aspect: String = "state")
    /// Nothing any more about this state.
    case forget(subject: String, aspect: String = "state")
    /// Nothing any more about the subject, by events of any family.
    case forgetAll(subject: String)
}

/// One state of one subject.
struct RetentionKey: Sendable, Hashable {
    let subject: String
    let aspect: String

    init(_ subject: String, _ aspect: String) {
        self.subject = subject
        self.aspect = aspect
    }

    /// Keeps the state.
    var kept: Retention { .keep(subject: self.subject, aspect: self.aspect) }
}
