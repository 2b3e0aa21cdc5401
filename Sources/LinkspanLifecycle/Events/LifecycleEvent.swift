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

    /// The meaning of the event for services that start later.
    var kept: Retention { Self.family.retention?(self) ?? .none }
}

/// A family of events: its name, how its events reach services, and which method takes them.
public struct EventFamily<Event: Sendable, Observer: Sendable>: Sendable {
    let name: String
    let delivery: EventDelivery
    /// Nil for a family without states.
    let retention: (@Sendable (Event) -> Retention)?
    let deliver: @Sendable (Observer, Stamped<Event>, ServiceScope) async throws -> Void
    /// Hands over many events; nil for a family whose events come one by one.
    let deliverRun: (@Sendable (Observer, EventRun<Event>) async -> Void)?
    /// Adds events up, the first of which has the given number; nil for a family whose events are not.
    var tally: (@Sendable (ArraySlice<CollectedEvent<Event>>, UInt64) -> any EventTally)?

    @usableFromInline
    init(
        name: String, delivery: EventDelivery, retention: (@Sendable (Event) -> Retention)? = nil,
        deliver: @escaping @Sendable (Observer, Stamped<Event>, ServiceScope) async throws -> Void,
        deliverRun: (@Sendable (Observer, EventRun<Event>) async -> Void)? = nil
    ) {
        self.name = name
        self.delivery = delivery
        self.retention = retention
        self.deliver = deliver
        self.deliverRun = deliverRun
    }

    /// Events that are delivered one by one, to the services that are there; without any, events are not made.
    ///
    /// - Parameters:
    ///   - name: the name of the family in logs, metrics and faults.
    ///   - deliver: hands an event to an observer.
    /// - Returns: the family.
    public static func news(
        _ name: String, deliver: @escaping @Sendable (Observer, Stamped<Event>, ServiceScope) async throws -> Void
    ) -> Self {
        Self(name: name, delivery: .news, deliver: deliver)
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
        Self(name: name, delivery: .states, retention: retention, deliver: deliver)
    }

    /// Events that are collected for ``ServiceRegistry/Options/batchDelay`` and then handed over together, to the
    /// services that are there.
    ///
    /// For events on the path of every message: emitting one costs no more than appending it.
    ///
    /// - Parameters:
    ///   - name: the name of the family in logs, metrics and faults.
    ///   - deliver: hands an event to an observer.
    /// - Returns: the family.
    @inlinable
    public static func batches(
        _ name: String, deliver: @escaping @Sendable (Observer, Stamped<Event>, ServiceScope) async throws -> Void
    ) -> Self {
        Self(name: name, delivery: .batches, deliver: deliver) { observer, run in
            _ = await run.forEach { event, scope in
                try await deliver(observer, event, scope)
                return true
            }
        }
    }
}

extension EventFamily where Event: SummableEvent {
    /// Events that are collected as those of ``batches(_:deliver:)`` are, and none of which is lost: more than a service
    /// handles are added up.
    ///
    /// - Parameters:
    ///   - name: the name of the family in logs, metrics and faults.
    ///   - deliver: hands an event to an observer.
    /// - Returns: the family.
    @inlinable
    package static func sums(
        _ name: String, deliver: @escaping @Sendable (Observer, Stamped<Event>, ServiceScope) async throws -> Void
    ) -> Self {
        var family = Self.batches(name, deliver: deliver)
        family.addsUp()
        return family
    }

    @usableFromInline
    mutating func addsUp() {
        self.tally = { events, first in
            var tally = SumTally<Event>()
            for (offset, collected) in events.enumerated() {
                tally.add(collected.event, seq: first + UInt64(offset), time: collected.time)
            }
            return tally
        }
    }
}

/// The way in which the events of a family reach services.
@usableFromInline
enum EventDelivery: Sendable, Hashable {
    case news
    case states
    case batches
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
