internal import LinkspanRuntime

/// Something to be sent, as a value that can wait, expire and be cancelled.
public struct Command: Sendable {
    /// Identifies a command in its process.
    public struct ID: Sendable, Hashable, Comparable {
        let number: UInt64

        /// The identity of a command that nobody can refer to, until it has to wait.
        static let none = Self(number: 0)

        /// The newest number: between all threads that make commands.
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
        /// Sent at least once, repeated after losses until the reply comes; in order within its ordering key.
        case deliver(orderingKey: String)
        /// Sends nothing; done when the delivery with the same ``Command/key`` is.
        case outcome
    }

    /// What only deliveries have.
    private final class Delivery: Sendable {
        let key: String?
        let accepted: (@Sendable (DeliveryReceipt) -> Void)?

        init(key: String?, accepted: (@Sendable (DeliveryReceipt) -> Void)?) {
            self.key = key
            self.accepted = accepted
        }
    }

    /// Its identity.
    public private(set) var id: ID
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
    /// What a server recognises a delivery by that it has had before; see ``DeliveryOptions/key``.
    ///
    /// Nil for one that the SDK makes.
    public var key: String? {
        get { self.delivery?.key }
        set { self.delivery = Delivery(key: newValue, accepted: self.delivery?.accepted) }
    }
    private var delivery: Delivery?
    /// Whether an earlier process left it, and may have sent it.
    var isRestored = false
    /// Called exactly once with the outcome, on the connection's executor.
    private(set) var completion: (@Sendable (Result<Payload, LinkspanError>) -> Void)?

    /// Makes a command.
    ///
    /// - Parameters:
    ///   - kind: what is promised.
    ///   - event: the name of the event.
    ///   - payload: the arguments.
    ///   - timeout: how long it may take altogether; nil for no limit.
    ///   - isVolatile: left out, rather than kept, when it cannot be sent at once.
    ///   - key: what a server recognises a delivery by; nil for one that the SDK makes.
    ///   - completion: called exactly once with the outcome. For a `send` the payload is empty.
    ///   - accepted: called at most once, before the completion, when a delivery is accepted: with a store, when it is
    ///     committed.
    public init(
        _ kind: Kind, event: String, payload: Payload, timeout: Duration? = nil, isVolatile: Bool = false,
        key: String? = nil, completion: (@Sendable (Result<Payload, LinkspanError>) -> Void)? = nil,
        accepted: (@Sendable (DeliveryReceipt) -> Void)? = nil
    ) {
        self.id = ID.next()
        self.kind = kind
        self.event = event
        self.payload = payload
        self.timeout = timeout
        self.isVolatile = isVolatile
        self.delivery = key == nil && accepted == nil ? nil : Delivery(key: key, accepted: accepted)
        self.completion = completion
    }

    /// Makes a command to be sent at once, whose outcome nobody asks for.
    ///
    /// It gets its identity when it has to wait.
    init(sending event: String, payload: Payload, isVolatile: Bool = false) {
        self.id = .none
        self.kind = .send
        self.event = event
        self.payload = payload
        self.timeout = nil
        self.isVolatile = isVolatile
        self.delivery = nil
        self.completion = nil
    }

    /// The same command, whose outcome `observer` gets just before its own completion does: for connections that wrap
    /// another.
    public func observed(
        by observer: @escaping @Sendable (Result<Payload, LinkspanError>) -> Void
    ) -> Self {
        var observed = self
        observed.identify()
        observed.completion = { [completion] outcome in
            observer(outcome)
            completion?(outcome)
        }
        return observed
    }

    /// Gives the command an identity, if it has none.
    mutating func identify() { if self.id == .none { self.id = ID.next() } }

    /// Makes a command of a delivery that an earlier process left.
    init(restored delivery: StoredDelivery) {
        self.init(
            .deliver(orderingKey: delivery.orderingKey), event: delivery.event, payload: delivery.payload,
            timeout: delivery.timeout, key: delivery.key)
        self.isRestored = true
    }

    /// Whether somebody asks for a receipt.
    var wantsReceipt: Bool { self.delivery?.accepted != nil }

    package var byteCount: Int { self.event.utf8.count + self.payload.byteCount }

    /// Tells the caller what became of the command.
    ///
    /// For implementations of ``ManagedConnection``: call it exactly once for each command that was taken, outside all
    /// locks.
    public func finish(_ outcome: Result<Payload, LinkspanError>) { self.completion?(outcome) }

    /// Tells the caller that a delivery is accepted.
    ///
    /// For implementations of ``ManagedConnection``: call it at most once, before ``finish(_:)``, outside all locks.
    public func accept(_ receipt: DeliveryReceipt) { self.delivery?.accepted?(receipt) }

    func fail(_ code: LinkspanError.Code, _ certainty: LinkspanError.Certainty, _ message: String) -> Effect {
        .finish(self, .failure(LinkspanError(code, "'\(self.event)' \(message)", certainty: certainty)))
    }
}

extension Command {
    /// Has a command performed and waits for its outcome; cancelling the task gives the command up.
    static func outcome(
        of kind: Kind, event: String, payload: Payload, timeout: Duration?, key: String? = nil,
        perform: (Command) throws(LinkspanError) -> Void, cancel: @escaping @Sendable (ID) -> Void
    ) async throws(LinkspanError) -> Payload {
        let outcome = Promise<Result<Payload, LinkspanError>>()
        let command = Command(kind, event: event, payload: payload, timeout: timeout, key: key) { outcome.fulfill($0) }
        try perform(command)
        let result = await withTaskCancellationHandler {
            await outcome.value
        } onCancel: {
            cancel(command.id)
        }
        return try result.get()
    }

    /// Has a delivery performed and waits until it is accepted; cancelling the task before that gives the delivery up.
    static func receipt(
        of kind: Kind, event: String, payload: Payload, timeout: Duration?, key: String?,
        perform: (Command) throws(LinkspanError) -> Void, cancel: @escaping @Sendable (ID) -> Void
    ) async throws(LinkspanError) -> DeliveryReceipt {
        let accepted = Promise<Result<DeliveryReceipt, LinkspanError>>()
        let command = Command(kind, event: event, payload: payload, timeout: timeout, key: key) { outcome in
            // Counts when the delivery was refused, or the connection does not tell that it has accepted it.
            accepted.fulfill(outcome.map { _ in DeliveryReceipt(key: key ?? event) })
        } accepted: { receipt in
            accepted.fulfill(.success(receipt))
        }
        try perform(command)
        let result = await withTaskCancellationHandler {
            await accepted.value
        } onCancel: {
            cancel(command.id)
        }
        return try result.get()
    }
}
