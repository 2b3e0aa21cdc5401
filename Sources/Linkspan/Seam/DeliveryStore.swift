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
/// Nothing has a default implementation, so that a store that wraps another one cannot lose a capability. Compared by
/// instance: holders of one connection pass on the same store.
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

extension DeliveryStore {
    /// Erases all rows of an account, from any task; see ``ConnectionManager/logOut(_:keepingDeliveries:within:)``.
    public func erase(account: String?) async {
        let erased = Promise<Void>()
        self.executor.execute { self.erase(account: account) { erased.fulfill() } }
        await erased.value
    }
}
