/// An event that a registry delivers; its type is its family.
///
/// Any module can declare a family: an event type, and the protocol that a service adopts to receive it.
///
/// ```swift
/// struct UploadEvent: LifecycleEvent {
///     static var family: EventFamily<Self, any UploadObserving> {
///         .news("upload") { try await $0.on($1, $2) }
///     }
///     var file: String
///     var isComplete: Bool
/// }
///
/// protocol UploadObserving: LifecycleService {
///     func on(_ event: Stamped<UploadEvent>, _ scope: ServiceScope) async throws
/// }
/// ```
public protocol LifecycleEvent: Sendable, Hashable {
    /// The protocol of the services that receive these events, as an existential type such as `any UploadObserving`.
    associatedtype Observer: Sendable

    /// The family's name, how its events reach services, and which method takes them.
    static var family: EventFamily<Self, Observer> { get }
}

extension LifecycleEvent {
    /// The name of the family in logs, metrics and faults.
    public static var familyName: String { Self.family.name }

    /// The identity of the family.
    static var familyID: FamilyID { FamilyID(type: Self.self) }

    /// The identity of the event's family.
    var familyID: FamilyID { Self.familyID }
}

/// A family of events: its name, how its events reach services, and which method takes them.
public struct EventFamily<Event: Sendable, Observer: Sendable>: Sendable {
    let name: String
    /// The part of an event that is kept; nil for a family without states.
    let retention: (@Sendable (Event) -> Retention)?
    /// Whether an event takes the place of a waiting one about the same state.
    var isTotal = false
    let deliver: @Sendable (Observer, Stamped<Event>, ServiceScope) async throws -> Void

    /// Events that are delivered one by one, to the services that are there; without any, events are not made.
    ///
    /// - Parameters:
    ///   - name: the name of the family in logs, metrics and faults.
    ///   - deliver: hands an event to an observer.
    /// - Returns: the family.
    public static func news(
        _ name: String, deliver: @escaping @Sendable (Observer, Stamped<Event>, ServiceScope) async throws -> Void
    ) -> Self {
        Self(name: name, retention: nil, deliver: deliver)
    }

    /// Events that are delivered one by one, and the latest of each state kept for services that start later.
    ///
    /// - Parameters:
    ///   - name: the name of the family in logs, metrics and faults.
    ///   - retention: the part of an event that services get when they start later.
    ///   - deliver: hands an event to an observer.
    /// - Returns: the family.
    public static func states(
        _ name: String, retention: @escaping @Sendable (Event) -> Retention,
        deliver: @escaping @Sendable (Observer, Stamped<Event>, ServiceScope) async throws -> Void
    ) -> Self {
        Self(name: name, retention: retention, deliver: deliver)
    }

    /// Running totals: states of which only the newest counts, so that it replaces an older one that still waits.
    ///
    /// A mailbox holds one event for each state, whatever its capacity, and loses none.
    ///
    /// - Parameters:
    ///   - name: the name of the family in logs, metrics and faults.
    ///   - retention: the state of which an event has the total.
    ///   - deliver: hands an event to an observer.
    /// - Returns: the family.
    package static func totals(
        _ name: String, retention: @escaping @Sendable (Event) -> Retention,
        deliver: @escaping @Sendable (Observer, Stamped<Event>, ServiceScope) async throws -> Void
    ) -> Self {
        Self(name: name, retention: retention, isTotal: true, deliver: deliver)
    }
}

/// The identity of a family: all events of one type.
struct FamilyID: Sendable, Hashable, CustomStringConvertible {
    let type: any LifecycleEvent.Type

    var description: String { self.type.familyName }

    static func == (left: Self, right: Self) -> Bool { left.type == right.type }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self.type)) }
}

/// The part of an event that a registry keeps for services that start later.
///
/// A subject such as `connection 7` can have several states, distinguished by `aspect`.
public enum Retention: Sendable, Hashable {
    /// Nothing.
    case none
    /// The event, in place of the last one about the same state.
    case keep(subject: String, aspect: String = "state")
    /// Nothing any more about this state.
    case forget(subject: String, aspect: String = "state")
    /// Nothing any more about the subject, by events of any family.
    case forgetAll(subject: String)

    /// The subject of the state that is kept, if one is.
    var keptSubject: String? { if case .keep(let subject, _) = self { subject } else { nil } }
}
