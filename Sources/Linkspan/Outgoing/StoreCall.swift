/// Something that a connection asks of its store.
enum StoreCall: Sendable {
    case open(account: String?, session: UInt64)
    case load(account: String?, after: UInt64, rows: Int, bytes: Int, session: UInt64)
    case keep(StoredDelivery, Command.ID)
    case end(StoredDelivery)
    case postpone(StoredDelivery)
    case find(key: String, account: String?, session: UInt64)
    case close(account: String?)
    case session(account: String?, session: UInt64)
    case keepSession(StoredSession, account: String?)

    /// Whether the connection is not settled before it is answered.
    var isWrite: Bool {
        switch self {
        case .keep, .end: true
        case .open, .load, .postpone, .find, .close, .session, .keepSession: false
        }
    }

    /// Makes the call, on the store's executor.
    ///
    /// - Parameters:
    ///   - store: the store.
    ///   - answer: gets the answer, on any thread.
    func make(on store: any DeliveryStore, _ answer: @escaping @Sendable (StoreAnswer) -> Void) {
        switch self {
        case .open(let account, let session):
            store.open(account: account) { answer(.opened(account: account, session: session, $0)) }
        case .load(let account, let number, let rows, let bytes, let session):
            store.load(account: account, after: number, rows: rows, bytes: bytes) {
                answer(.loaded(session: session, $0))
            }
        case .keep(let delivery, let id): store.keep(delivery) { answer(.kept(delivery, id, $0)) }
        case .end(let delivery): store.end(delivery) { answer(.ended) }
        case .postpone(let delivery): store.postpone(delivery)
        case .find(let key, let account, let session):
            store.find(key: key, account: account) { answer(.found(key: key, session: session, $0)) }
        case .close(let account): store.close(account: account)
        case .session(let account, let session):
            store.session(account: account) { answer(.session(session: session, $0)) }
        case .keepSession(let session, let account): store.keep(session, account: account)
        }
    }
}

/// The store's answer to a call; `session` counts the openings of accounts, so that a late answer is recognised.
enum StoreAnswer: Sendable {
    case opened(account: String?, session: UInt64, Result<Void, any Error>)
    case loaded(session: UInt64, Result<[StoredDelivery], any Error>)
    case kept(StoredDelivery, Command.ID, Result<StoredDelivery, any Error>)
    case ended
    case found(key: String, session: UInt64, Result<StoredDelivery?, any Error>)
    case session(session: UInt64, Result<StoredSession?, any Error>)
}
