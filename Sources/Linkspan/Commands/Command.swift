internal import LinkspanLock

/// Something to be sent, as a value that can wait, expire and be cancelled.
public struct Command: Sendable {
    /// Identifies a command in its process.
    public struct ID: Sendable, Hashable, Comparable {
        let number: UInt64

        private static let last = Lock<UInt64>(0)

        static func next() -> Self {
            Self(
                number: Self.last.withLock { last in
                    last += 1
                    return last
                })
        }

        /// The earlier made is the smaller.
        public static func < (lhs: Self, rhs: Self) -> Bool { lhs.number < rhs.number }
    }

    /// What is promised about a command.
    public enum Kind: Sendable, Hashable {
        /// Sent at most once; done when the transport has taken it.
        case send
        /// Sent at most once; done when the reply has come.
        case request
        /// Sent at least once, repeated after losses until the reply comes; in order within its lane.
        case deliver(lane: String)
    }

    /// Its identity.
    public let id: ID
    /// What is promised about it.
    public let kind: Kind
    /// The name of the event.
    public let event: String
    /// The arguments.
    public let payload: Payload
    /// How long it may take altogether, from being made; nil for no limit.
    public var timeout: Duration?
    /// Left out, rather than kept, when it cannot be sent at once.
    public var isVolatile: Bool
    /// Called exactly once with the outcome, from any thread, outside all locks.
    let completion: (@Sendable (Result<Payload, LinkspanError>) -> Void)?

    /// Makes a command.
    ///
    /// - Parameters:
    ///   - kind: what is promised.
    ///   - event: the name of the event.
    ///   - payload: the arguments.
    ///   - timeout: how long it may take altogether; nil for no limit.
    ///   - isVolatile: left out, rather than kept, when it cannot be sent at once.
    ///   - completion: called exactly once with the outcome. For a `send` the payload is empty.
    public init(
        _ kind: Kind, event: String, payload: Payload, timeout: Duration? = nil, isVolatile: Bool = false,
        completion: (@Sendable (Result<Payload, LinkspanError>) -> Void)? = nil
    ) {
        self.id = ID.next()
        self.kind = kind
        self.event = event
        self.payload = payload
        self.timeout = timeout
        self.isVolatile = isVolatile
        self.completion = completion
    }

    var byteCount: Int { self.event.utf8.count + self.payload.byteCount }

    /// Tells the caller what became of the command.
    ///
    /// For those who write a ``Connection`` of their own: call it exactly once for each command that was taken, outside
    /// all locks.
    public func finish(_ outcome: Result<Payload, LinkspanError>) { self.completion?(outcome) }

    func fail(_ code: LinkspanError.Code, _ certainty: LinkspanError.Certainty, _ message: String) -> Effect {
        .finish(self, .failure(LinkspanError(code, "'\(self.event)' \(message)", certainty: certainty)))
    }
}
