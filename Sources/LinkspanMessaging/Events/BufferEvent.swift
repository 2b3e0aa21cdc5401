public import LinkspanLifecycle

/// A change of a queue of messages.
public struct BufferEvent: Sendable, Hashable {
    /// Which queue.
    public struct Queue: RawRepresentable, Sendable, Hashable {
        /// The name of the queue.
        public var rawValue: String

        /// Makes a queue from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Commands that wait to be sent.
        public static let outbound = Queue(rawValue: "outbound")
    }

    /// What happened.
    @nonexhaustive
    public enum Kind: Sendable, Hashable {
        /// The queue has about doubled or halved since it was last told of.
        case level
        /// The queue grew past its upper mark.
        case highWater
        /// The queue fell below its lower mark.
        case lowWater
        /// This many left the queue in this time.
        case flushed(count: Int, time: Duration)
    }

    /// The connection's number, `nil` for a queue that belongs to none.
    public var connection: UInt64?
    /// Which queue.
    public var queue: Queue
    /// How many messages it holds.
    public var depth: Int
    /// How many messages it may hold.
    public var limit: Int
    /// What happened.
    public var kind: Kind

    /// Makes an event.
    public init(connection: UInt64?, queue: Queue, depth: Int, limit: Int, kind: Kind) {
        self.connection = connection
        self.queue = queue
        self.depth = depth
        self.limit = limit
        self.kind = kind
    }

    /// Whether the queue is nearly full.
    public var retention: Retention {
        let subject = self.connection.map(ConnectionEvent.subject) ?? "queues"
        let aspect = "queue \(self.queue.rawValue)"
        return switch self.kind {
        case .highWater: .keep(subject: subject, aspect: aspect)
        case .lowWater: .forget(subject: subject, aspect: aspect)
        case .level, .flushed: .none
        }
    }
}

extension BufferEvent: LifecycleEvent {
    /// `buffer`.
    public static var familyName: String { "buffer" }

    /// The latest of each state is kept.
    public static var delivery: EventDelivery { .states }

    /// Hands an event to an observer.
    public static func deliver(
        _ event: Stamped<Self>, to observer: any BufferObserving, _ scope: ServiceScope
    ) async throws {
        try await observer.on(event, scope)
    }
}
