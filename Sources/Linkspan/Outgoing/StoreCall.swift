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
    ///   - answer: posts the answer to the connection.
    func make(
        on store: any DeliveryStore,
        _ answer: @escaping @Sendable (@escaping @Sendable (ConnectionCore) -> Void) -> Void
    ) {
        switch self {
        case .open(let account, let session):
            store.open(account: account) { result in answer { $0.storeOpened(account, session: session, result) } }
        case .load(let account, let number, let rows, let bytes, let session):
            store.load(account: account, after: number, rows: rows, bytes: bytes) { result in
                answer { $0.storeLoaded(session: session, result) }
            }
        case .keep(let delivery, let id):
            store.keep(delivery) { result in answer { $0.storeKept(delivery, id, result) } }
        case .end(let delivery):
            store.end(delivery) { answer { $0.storeWrote() } }
        case .postpone(let delivery):
            store.postpone(delivery)
        case .find(let key, let account, let session):
            store.find(key: key, account: account) { result in
                answer { $0.storeFound(key: key, session: session, result) }
            }
        case .close(let account):
            store.close(account: account)
        case .session(let account, let session):
            store.session(account: account) { result in
                answer { $0.formerSessionKnown(session: session, result) }
            }
        case .keepSession(let session, let account):
            store.keep(session, account: account)
        }
    }
}
