public import LinkspanLifecycle

/// A change of the queue in which the commands of a connection wait to be sent.
public struct BufferEvent: Sendable, Hashable {
    /// The kind of a buffer event.
    @nonexhaustive
    public enum Kind: Sendable, Hashable {
        /// The queue has about doubled or halved since its last report.
        case level
        /// The queue grew past its upper mark.
        case highWater
        /// The queue fell below its lower mark.
        case lowWater
        /// This many left the queue in this time.
        case flushed(count: Int, time: Duration)
    }

    /// The connection's number.
    public var connection: UInt64
    /// The number of commands in the buffer.
    public var depth: Int
    /// The capacity of the buffer, in commands.
    public var limit: Int
    /// The kind of the event.
    public var kind: Kind

    /// Makes an event.
    public init(connection: UInt64, depth: Int, limit: Int, kind: Kind) {
        self.connection = connection
        self.depth = depth
        self.limit = limit
        self.kind = kind
    }

    /// Whether the queue is nearly full.
    var retention: Retention {
        let subject = ConnectionEvent.subject(self.connection)
        return switch self.kind {
        case .highWater: .keep(subject: subject, aspect: "queue")
        case .lowWater: .forget(subject: subject, aspect: "queue")
        case .level, .flushed: .none
        }
    }
}

extension BufferEvent: LifecycleEvent {
    /// Family `buffer`; the latest of each state is kept.
    public static var family: EventFamily<Self, any BufferObserving> {
        .states("buffer", retention: { $0.retention }) { try await $0.on($1, $2) }
    }
}

/// A service that follows queues.
public protocol BufferObserving: LifecycleService {
    /// Handles one event; an error becomes a fault and does not affect other services.
    func on(_ event: Stamped<BufferEvent>, _ scope: ServiceScope) async throws
}
