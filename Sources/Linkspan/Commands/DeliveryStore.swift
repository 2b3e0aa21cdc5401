public import LinkspanRuntime

/// Keeps deliveries so that they outlive the process: the seam for a durable outbox.
///
/// A connection with a store accepts a delivery once the store has committed it, sends it only then, and tells the
/// store its outcome. Deliveries without an outcome are sent by the next connection of the same account, with the same
/// keys, before newer ones of the same ordering key.
///
/// Rows belong to the account of the ``CredentialSource`` of the connection, so users who share a store never see each
/// other's rows; an account of nil is that of connections that show no credentials. One store serves one endpoint: rows
/// do not name it, because a connection may move.
///
/// All methods are called on ``executor``, never on that of a connection, and take effect in the order of the calls.
/// A store may answer later, from any thread and in any order, so that it can commit the rows of many callers together.
/// Each answer must be called exactly once.
///
/// Compared by instance: holders of one connection pass on the same store.
public protocol DeliveryStore: AnyObject, Sendable {
    /// The executor on which the methods are called, one at a time; no other work of a connection runs there.
    var executor: any JobExecutor { get }

    /// Opens an account's rows for one connection; answers once no other has them open, so that no row is sent twice.
    ///
    /// After an error the connection tries again every 5 s; deliveries wait meanwhile.
    func open(account: String?, _ answer: @escaping @Sendable (Result<Void, any Error>) -> Void)

    /// Answers with rows that were there when the account was opened and have no outcome, in the order of their
    /// numbers.
    ///
    /// Called whenever the connection has room for more, until the answer is empty.
    ///
    /// - Parameters:
    ///   - account: an account that is open.
    ///   - number: the rows wanted have higher numbers.
    ///   - rows: how many rows at most.
    ///   - bytes: the limit for the size of their payloads together; one row is always allowed.
    ///   - answer: gets the rows.
    func load(
        account: String?, after number: UInt64, rows: Int, bytes: Int,
        _ answer: @escaping @Sendable (Result<[StoredDelivery], any Error>) -> Void)

    /// Keeps a delivery; when it answers, the delivery must survive the process.
    ///
    /// The answer is the row as it is kept, with its number. If the account has a row of the same key, nothing changes
    /// and that row is the answer, with its outcome if it has one. An error refuses the delivery, with code `notKept`.
    func keep(_ delivery: StoredDelivery, _ answer: @escaping @Sendable (Result<StoredDelivery, any Error>) -> Void)

    /// Records the outcome that a delivery has; answers when that is done, or cannot be.
    ///
    /// The row is never loaded again. The store decides for how long ``find(key:account:_:)`` answers with it.
    func end(_ delivery: StoredDelivery, _ answer: @escaping @Sendable () -> Void)

    /// Records the number of times that the server has postponed a delivery, ``StoredDelivery/refusals``, so that the next
    /// process goes on counting.
    func postpone(_ delivery: StoredDelivery)

    /// Answers with the row of a key, or nil.
    func find(
        key: String, account: String?, _ answer: @escaping @Sendable (Result<StoredDelivery?, any Error>) -> Void)

    /// Closes an account that was opened: its rows stay, and another connection may open them.
    func close(account: String?)

    /// Erases all rows of an account, with their outcomes; answers when that is done, or cannot be.
    func erase(account: String?, _ answer: @escaping @Sendable () -> Void)

    /// Answers with the last session of an account, so that the next one may go on where it was; nil when there was
    /// none, or another connection has the account open.
    ///
    /// Asked behind each ``open(account:_:)``; the first attempt waits for the answer, for 2 s at most.
    func session(account: String?, _ answer: @escaping @Sendable (Result<StoredSession?, any Error>) -> Void)

    /// Stores the state of the current session of an open account.
    ///
    /// Called at most once a second, after the listeners of all messages that the session has received so far.
    func keep(_ session: StoredSession, account: String?)

    /// A one-sentence summary of the contents for ``Connection/explain()``; read from any thread.
    var summary: String? { get }

    /// The number of deliveries without an outcome, of all accounts; nil when the store does not count them. Read from
    /// any thread.
    var waitingCount: Int? { get }
}

// A store of deliveries alone.
extension DeliveryStore {
    /// Knows of no session.
    public func session(account: String?, _ answer: @escaping @Sendable (Result<StoredSession?, any Error>) -> Void) {
        answer(.success(nil))
    }

    /// Keeps nothing.
    public func keep(_ session: StoredSession, account: String?) {}

    /// Records nothing: each process counts anew.
    public func postpone(_ delivery: StoredDelivery) {}

    /// Nothing to say.
    public var summary: String? { nil }

    /// Not counted.
    public var waitingCount: Int? { nil }
}

/// The stored state of an account's last session, from which the next process resumes.
public struct StoredSession: Sendable, Hashable {
    /// The token that resumes the session; nil when its server does not resume sessions, or the app has left it.
    public var resumption: Secret?

    /// Makes a session.
    public init(resumption: Secret?) { self.resumption = resumption }
}

extension DeliveryStore {
    /// Erases all rows of an account, from any task; see ``ConnectionManager/logOut(_:keepingDeliveries:within:)``.
    public func erase(account: String?) async {
        let erased = Promise<Void>()
        self.executor.execute { self.erase(account: account) { erased.fulfill() } }
        await erased.value
    }
}

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
    /// The number of times the server has asked for it to come later; see ``DeliveryOptions/refusals``.
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

/// Names a delivery that was accepted, for as long as its store keeps it.
public struct DeliveryReceipt: Sendable, Hashable {
    /// The key of the delivery.
    public var key: String

    /// Makes the receipt of a delivery with a known key, perhaps of an earlier process.
    public init(key: String) { self.key = key }
}
