/// A delivery as a ``DeliveryStore`` keeps it.
public struct StoredDelivery: Sendable {
    /// The idempotency key, here and at the server; unique within its account.
    public var key: String
    /// The account that the delivery belongs to.
    public var account: String?
    /// The ordering key: deliveries that share it arrive in order.
    public var orderingKey: String
    /// The name of the event.
    public var event: String
    /// The arguments.
    public var payload: Payload
    /// The time limit, from now; nil for no limit.
    ///
    /// A store that keeps the time answers with the remaining time.
    public var timeout: Duration?
    /// Whether it may be compressed, where client and server have agreed on compression.
    public var isCompressible: Bool
    /// Whether the SDK has made the key, so that the store may give it another one as it keeps the row.
    public var hasMadeKey = false
    /// Its place among the rows of the store, which gives it when it keeps the row; from 1.
    public var number: UInt64 = 0
    /// The number of times the server has asked for it to come later, by a reply of ``ReplyPolicy/Verdict/later``.
    public var refusals = 0
    /// The outcome; nil while the delivery waits.
    public var outcome: Result<Payload, LinkspanError>?

    /// Makes a delivery that waits.
    public init(
        key: String, account: String? = nil, orderingKey: String, event: String, payload: Payload,
        timeout: Duration? = nil, isCompressible: Bool = true
    ) {
        self.key = key
        self.account = account
        self.orderingKey = orderingKey
        self.event = event
        self.payload = payload
        self.timeout = timeout
        self.isCompressible = isCompressible
    }
}

/// The stored state of an account's last session, from which the next process resumes.
public struct StoredSession: Sendable, Hashable {
    /// The token that resumes the session; nil when its server does not resume sessions, or the app has left it.
    public var resumption: Secret?

    /// Makes a session.
    public init(resumption: Secret?) { self.resumption = resumption }
}
