/// An event as it is delivered to one service, with its place among the others.
public struct Stamped<Event: Sendable>: Sendable {
    /// The event.
    public var event: Event

    /// The place in the order of the registry; a service sees numbers that only rise.
    public var seq: UInt64

    /// The time of the event.
    public var time: ContinuousClock.Instant

    /// The number of the event that led to this one, if known.
    public var cause: UInt64?

    /// Whether the event happened before the service was ready: state to know, not news to announce.
    public var replayed: Bool

    /// The number of events of this family that the service missed just before this one.
    public var gap: Int

    /// Makes an envelope.
    public init(
        _ event: Event, seq: UInt64, time: ContinuousClock.Instant, cause: UInt64? = nil, replayed: Bool = false,
        gap: Int = 0
    ) {
        self.event = event
        self.seq = seq
        self.time = time
        self.cause = cause
        self.replayed = replayed
        self.gap = gap
    }

    /// The same envelope around something else.
    package func with<Other: Sendable>(_ other: Other) -> Stamped<Other> {
        Stamped<Other>(
            other, seq: self.seq, time: self.time, cause: self.cause, replayed: self.replayed, gap: self.gap)
    }
}

extension Stamped: Equatable where Event: Equatable {}
