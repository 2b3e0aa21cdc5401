internal import DequeModule
internal import LinkspanRuntime

/// The deliveries of one connection: those that wait, those that its store keeps, and when each is sent again.
///
/// Behind a reference, because it is large, and most connections have no delivery and no store. ``Outgoing`` has the only
/// one.
final class Deliveries {
    var queues = DeliveryQueues()
    var ledger: DeliveryLedger
    /// The instants at which deliveries are sent again over the same link.
    var repeats = DeadlineQueue()

    init(isStored: Bool = false) { self.ledger = DeliveryLedger(isStored: isStored) }

    /// Deliveries that wait, and commands that wait for one of them.
    var count: Int { self.queues.count + self.ledger.followerCount }

    func contains(_ id: Command.ID) -> Bool { self.queues.contains(id) || self.ledger.isFollower(id) }

    /// Takes everything out, each with whether it may have been sent.
    func removeAll() -> [(Command, LinkspanError.Certainty)] {
        self.queues.removeAll().map { ($0, $1 ? .unknown : .notSent) }
            + self.ledger.removeAllFollowers().map { ($0, .unknown) }
    }

    /// Takes a delivery out, or a command that waits for one.
    func remove(_ id: Command.ID) -> (Command, LinkspanError.Certainty)? {
        // A delivery that waits may have been sent over an earlier link.
        if let removed = self.queues.remove(id) { return (removed.command, removed.wasSent ? .unknown : .notSent) }
        return self.ledger.removeFollower(id).map { ($0, .unknown) }
    }
}

// MARK: - New deliveries

extension Deliveries {
    /// Takes a delivery, or a command that waits for one to end.
    ///
    /// - Throws: `bufferFull`.
    func accept(
        _ command: Command, _ options: DeliveryOptions, _ outputs: inout Deque<OutgoingOutput>
    ) throws(LinkspanError) {
        guard case .deliver(let orderingKey) = command.kind else {
            return try self.acceptWait(command, options, &outputs)
        }
        if let key = command.key, let former = self.ledger.delivery(key) {
            try self.follow(command, key: key, options)
            if self.queues.isCommitted(former) { Self.report(command, key: key, &outputs) }
            return
        }
        try self.queues.append(
            command, orderingKey: orderingKey, within: options.limits, isCommitted: !self.ledger.isStored)
        guard let key = command.key else { return }
        self.ledger.add(command.id, key: key)
        if self.ledger.isStored {
            let row = StoredDelivery(command, key: key, account: self.ledger.account, orderingKey: orderingKey)
            outputs.append(.callStore(.keep(row, command.id)))
        } else {
            Self.report(command, key: key, &outputs)
        }
    }

    private func acceptWait(
        _ command: Command, _ options: DeliveryOptions, _ outputs: inout Deque<OutgoingOutput>
    ) throws(LinkspanError) {
        guard let key = command.key, self.ledger.isStored || self.ledger.delivery(key) != nil else {
            outputs.append(
                command.fail(.notKept, .unknown, "is not a waiting delivery, and the connection has no store"))
            return
        }
        try self.follow(command, key: key, options)
        if self.ledger.delivery(key) == nil {
            let call = StoreCall.find(key: key, account: self.ledger.account, session: self.ledger.session)
            outputs.append(.callStore(call))
        }
    }

    /// Makes a command end with a delivery.
    private func follow(_ command: Command, key: String, _ options: DeliveryOptions) throws(LinkspanError) {
        guard self.count < options.commands else {
            throw LinkspanError(
                .bufferFull, "'\(command.event)' refused: \(self.count) deliveries are waiting", certainty: .notSent)
        }
        self.ledger.follow(command, key: key)
    }

    /// Reports that a delivery is accepted, if its caller asks for that.
    private static func report(_ command: Command, key: String, _ outputs: inout Deque<OutgoingOutput>) {
        if command.wantsReceipt { outputs.append(.accept(command, key)) }
    }
}

// MARK: - The store

extension Deliveries {
    /// Asks the store to open the account; new deliveries wait until the kept ones are loaded.
    func openStore(_ outputs: inout Deque<OutgoingOutput>) {
        guard self.ledger.isStored else { return }
        let session = self.ledger.beginSession()
        self.queues.holdNew()
        outputs.append(.callStore(.open(account: self.ledger.account, session: session)))
        outputs.append(.callStore(.session(account: self.ledger.account, session: session)))
    }

    /// Closes the account, so that another connection may have it.
    func closeStore(_ outputs: inout Deque<OutgoingOutput>) {
        guard self.ledger.isStored else { return }
        if self.ledger.endSession() { outputs.append(.callStore(.close(account: self.ledger.account))) }
    }

    /// The account whose session is to be kept; nil while the store has not opened it.
    var openAccount: String?? {
        switch self.ledger.backlog {
        case .closed, .opening: nil
        case .loading, .complete: .some(self.ledger.account)
        }
    }

    /// The store has opened an account, or has not.
    func opened(
        _ account: String?, session: UInt64, _ result: Result<Void, any Error>, _ outputs: inout Deque<OutgoingOutput>
    ) {
        switch result {
        case .success where session == self.ledger.session:
            self.ledger.backlog = .loading(after: 0, isAsked: false)
        // It is not needed any more.
        case .success: outputs.append(.callStore(.close(account: account)))
        case .failure(let error):
            if session == self.ledger.session { outputs.append(.retryStore(session: session, error)) }
        }
    }

    /// Asks again what the store has failed to answer.
    func retry(session: UInt64, _ outputs: inout Deque<OutgoingOutput>) {
        guard session == self.ledger.session else { return }
        switch self.ledger.backlog {
        case .opening: outputs.append(.callStore(.open(account: self.ledger.account, session: session)))
        case .loading(let number, isAsked: true): self.ledger.backlog = .loading(after: number, isAsked: false)
        case .closed, .loading, .complete: ()
        }
    }

    /// Asks for rows while less than a turn of the flush waits.
    ///
    /// Beyond that while the link, if it is open, has been given every delivery that may be sent, so that an ordering key
    /// without an answer holds up no other one.
    func loadMore(isOpen: Bool, _ options: ConnectionOptions, _ outputs: inout Deque<OutgoingOutput>) {
        guard case .loading(let number, isAsked: false) = self.ledger.backlog,
            self.queues.restoredCount < options.flush.commands
                || isOpen && self.queues.isBlocked(within: options.deliveries.limits)
        else { return }
        self.ledger.backlog = .loading(after: number, isAsked: true)
        outputs.append(
            .callStore(
                .load(
                    account: self.ledger.account, after: number, rows: options.flush.commands,
                    bytes: options.flush.bytes, session: self.ledger.session)))
    }

    /// The store has loaded rows.
    ///
    /// - Returns: the deliveries that wait from now on.
    func loaded(
        session: UInt64, _ result: Result<[StoredDelivery], any Error>, _ outputs: inout Deque<OutgoingOutput>
    ) -> [Command] {
        guard session == self.ledger.session, case .loading(_, isAsked: true) = self.ledger.backlog else { return [] }
        switch result {
        case .failure(let error):
            outputs.append(.retryStore(session: session, error))
            return []
        case .success(let rows):
            let restored = self.ledger.waiting(of: rows).compactMap { self.restore($0, &outputs) }
            if let last = rows.last {
                self.ledger.backlog = .loading(after: last.number, isAsked: false)
            } else {
                self.ledger.backlog = .complete
                self.queues.releaseNew()
            }
            return restored
        }
    }

    /// Takes a delivery that was kept before; a command of this process with the same key ends with it.
    private func restore(_ row: StoredDelivery, _ outputs: inout Deque<OutgoingOutput>) -> Command? {
        let command = Command(restored: row)
        if let former = self.ledger.delivery(row.key) {
            let isCommitted = self.queues.isCommitted(former)
            guard let repeated = self.queues.remove(former)?.command else { return nil }
            if !isCommitted { Self.report(repeated, key: row.key, &outputs) }
            self.ledger.follow(repeated, key: row.key)
        }
        self.ledger.add(command.id, key: row.key)
        self.queues.restore(command, orderingKey: row.orderingKey)
        return command
    }

    /// The store has kept a delivery, or has not.
    func kept(
        _ delivery: StoredDelivery, _ id: Command.ID, _ result: Result<StoredDelivery, any Error>,
        _ outputs: inout Deque<OutgoingOutput>
    ) {
        guard !self.queues.isCommitted(id) else {
            // One that has ended meanwhile has told the store so, by the only key that it knew.
            guard let outcome = self.ledger.takeEnd(ofUnkept: id), case .success(var row) = result,
                row.key != delivery.key
            else { return }
            row.outcome = outcome
            outputs.append(.callStore(.end(row)))
            return
        }
        switch result {
        case .success(let row) where row.outcome == nil:
            let command = self.queues.commit(id)
            if row.key != delivery.key {
                self.ledger.rename(id, from: delivery.key, to: row.key)
                self.queues.rename(id, key: row.key)
            }
            for command in [command].compactMap(\.self) + self.ledger.followers(of: row.key) {
                Self.report(command, key: row.key, &outputs)
            }
        case .success(let row):
            self.end(unkept: delivery, id, row.outcome ?? .success(.empty), isAccepted: true, &outputs)
        case .failure(let error):
            let refusal = LinkspanError(
                .notKept, "'\(delivery.event)' could not be stored: \(error)", cause: error, certainty: .notSent)
            self.end(unkept: delivery, id, .failure(refusal), isAccepted: false, &outputs)
        }
    }

    /// Ends a delivery that the store has no row for, or one with an outcome: it is not told.
    private func end(
        unkept delivery: StoredDelivery, _ id: Command.ID, _ outcome: Result<Payload, LinkspanError>, isAccepted: Bool,
        _ outputs: inout Deque<OutgoingOutput>
    ) {
        guard let removed = self.queues.remove(id) else { return }
        let followers = self.ledger.remove(id, key: delivery.key)?.followers ?? []
        for command in [removed.command] + followers {
            if isAccepted { Self.report(command, key: delivery.key, &outputs) }
            outputs.append(.finish(command, outcome))
        }
    }

    /// The store has looked for a delivery that a caller waits for.
    func found(
        key: String, session: UInt64, _ result: Result<StoredDelivery?, any Error>,
        _ outputs: inout Deque<OutgoingOutput>
    ) {
        // One that was accepted meanwhile will tell.
        guard session == self.ledger.session, self.ledger.delivery(key) == nil else { return }
        let outcome: Result<Payload, LinkspanError>
        switch result {
        case .success(let row?):
            // One without an outcome is not loaded yet.
            guard let known = row.outcome else { return }
            outcome = known
        case .success(nil):
            outcome = .failure(LinkspanError(.notKept, "the store has no delivery '\(key)'", certainty: .unknown))
        case .failure(let error):
            outcome = .failure(
                LinkspanError(.notKept, "the store cannot be asked for '\(key)'", cause: error, certainty: .unknown))
        }
        for command in self.ledger.removeFollowers(key: key) { outputs.append(.finish(command, outcome)) }
    }
}

// MARK: - Sending

extension Deliveries {
    /// The message for a delivery, with its key where the server expects it.
    func message(of delivery: Command, _ options: DeliveryOptions) -> OutboundMessage {
        var payload = delivery.payload
        if let key = delivery.key {
            switch options.keyPlacement {
            case nil: ()
            case .lastArgument: payload = payload.appending(key)
            // An earlier process may have accepted it under other rules; without its key it may be applied twice, not lost.
            case .field(let name): payload = payload.adding(key, as: name)
            }
        }
        return OutboundMessage(
            event: delivery.event, payload: payload, isCompressible: delivery.message.isCompressible)
    }

    /// Notes when a delivery is to be sent again, of those whose replies are `awaited`.
    func watchReply(_ number: UInt64, to id: Command.ID, until due: Moment, _ awaited: AwaitedCommands) {
        self.queues.note(requestID: number, repeatAt: due, of: id)
        var awaited = awaited
        if self.repeats.isSparse(living: awaited.count) { self.repeats.compact { awaited.contains($0) } }
        self.repeats.insert(id, at: due)
    }

    /// Ends deliveries that were given to links as often as they may be.
    func endExhausted(
        _ options: DeliveryOptions, because cause: LinkspanError? = nil, _ outputs: inout Deque<OutgoingOutput>
    ) {
        guard let limit = options.attempts else { return }
        for command in self.queues.removeHeads(givenTimes: limit) {
            outputs.append(command.fail(.timedOut, .unknown, "got no reply to its last attempt", because: cause))
        }
    }
}

// MARK: - Ends of deliveries

extension Deliveries {
    /// The outcome that a reply means for its delivery; nil when that is to be sent again.
    func outcome(
        of delivery: Command, orderingKey: String, _ reply: Payload, _ verdict: ReplyPolicy.Verdict,
        _ options: DeliveryOptions, _ outputs: inout Deque<OutgoingOutput>
    ) -> Result<Payload, LinkspanError>? {
        switch verdict {
        case .taken: return .success(reply)
        case .refused: return .failure(delivery.failure(.messageRefused, "was refused by the server", details: reply))
        case .later:
            // Until then it counts as unanswered, but it has not ended its link.
            self.queues.clear(delivery.id)
            guard let refused = self.queues.noteRefusal(of: delivery.id) else { return nil }
            guard refused.refusals >= options.refusals else {
                if self.ledger.isStored, let key = refused.key, let account = self.ledger.account(of: key) {
                    let row = StoredDelivery(refused, key: key, account: account, orderingKey: orderingKey)
                    outputs.append(.callStore(.postpone(row)))
                }
                return nil
            }
            let fate = "was set aside: the server postponed it \(options.refusals) times"
            return .failure(delivery.failure(.setAside, fate, details: reply))
        }
    }

    /// A delivery has its outcome: what waits for it ends with it.
    ///
    /// - Returns: the row for the store; nil when it keeps none, or the delivery stays for the account's next connection.
    func ended(
        _ command: Command, _ outcome: Result<Payload, LinkspanError>, _ outputs: inout Deque<OutgoingOutput>
    ) -> StoredDelivery? {
        guard case .deliver(let orderingKey) = command.kind, let key = command.key,
            let (account, followers) = self.ledger.remove(command.id, key: key)
        else { return nil }
        for follower in followers { outputs.append(.finish(follower, outcome)) }
        guard self.ledger.isStored else { return nil }
        // What left with its connection has not ended: the next connection of the account goes on.
        if case .failure(let error) = outcome, error.leavesDeliveries { return nil }
        if command.isUnkept, command.hasMadeKey { self.ledger.noteEnd(ofUnkept: command.id, outcome) }
        var row = StoredDelivery(command, key: key, account: account, orderingKey: orderingKey)
        row.outcome = outcome
        return row
    }
}

extension StoredDelivery {
    fileprivate init(_ command: Command, key: String, account: String?, orderingKey: String) {
        self.init(
            key: key, account: account, orderingKey: orderingKey, event: command.event, payload: command.payload,
            timeout: command.timeout, isCompressible: command.message.isCompressible)
        self.hasMadeKey = command.hasMadeKey
        self.refusals = command.refusals
    }
}
