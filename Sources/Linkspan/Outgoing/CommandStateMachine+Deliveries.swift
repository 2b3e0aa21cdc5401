internal import DequeModule
internal import LinkspanRuntime

// MARK: - The knowledge about them

extension CommandStateMachine {
    var queues: DeliveryQueues {
        _read { if let deliveries = self.deliveries { yield deliveries.queues } else { yield DeliveryQueues() } }
        _modify { yield &self.madeDeliveries.queues }
    }

    var ledger: DeliveryLedger {
        _read {
            if let deliveries = self.deliveries {
                yield deliveries.ledger
            } else {
                yield DeliveryLedger(isStored: false, account: nil)
            }
        }
        _modify { yield &self.madeDeliveries.ledger }
    }

    var madeDeliveries: Deliveries {
        mutating get {
            let deliveries = self.deliveries ?? Deliveries()
            self.deliveries = deliveries
            return deliveries
        }
    }
}

// MARK: - New deliveries

extension CommandStateMachine {
    /// Takes a delivery, or a command that waits for one to end.
    ///
    /// - Throws: `bufferFull`.
    mutating func acceptDelivery(
        _ command: Command, made: () -> Moment, effects: inout Deque<Effect>
    ) throws(LinkspanError) {
        guard case .deliver(let orderingKey) = command.kind else {
            return try self.acceptWait(command, made: made, effects: &effects)
        }
        if let key = command.key, let former = self.ledger.delivery(key) {
            try self.follow(command, key: key, made: made)
            if self.queues.isCommitted(former) { Self.accept(command, key: key, effects: &effects) }
            return
        }
        try self.queues.append(
            command, orderingKey: orderingKey, within: self.options.deliveries.limits,
            isCommitted: !self.ledger.isStored)
        self.watch(command, made: made())
        guard let key = command.key else { return }
        self.ledger.add(command.id, key: key)
        if self.ledger.isStored {
            let row = StoredDelivery(command, key: key, account: self.ledger.account, orderingKey: orderingKey)
            effects.append(.callStore(.keep(row, command.id)))
        } else {
            Self.accept(command, key: key, effects: &effects)
        }
    }

    private mutating func acceptWait(
        _ command: Command, made: () -> Moment, effects: inout Deque<Effect>
    ) throws(LinkspanError) {
        guard let key = command.key, self.ledger.isStored || self.ledger.delivery(key) != nil else {
            effects.append(
                command.fail(.notKept, .unknown, "is not a waiting delivery, and the connection has no store"))
            return
        }
        try self.follow(command, key: key, made: made)
        if self.ledger.delivery(key) == nil {
            let call = StoreCall.find(key: key, account: self.ledger.account, session: self.ledger.session)
            effects.append(.callStore(call))
        }
    }

    /// Makes a command end with a delivery.
    private mutating func follow(
        _ command: Command, key: String, made: () -> Moment
    ) throws(LinkspanError) {
        guard self.load.deliveries < self.options.deliveries.commands else {
            throw LinkspanError(
                .bufferFull, "'\(command.event)' refused: \(self.load.deliveries) deliveries are waiting",
                certainty: .notSent)
        }
        self.watch(command, made: made())
        self.ledger.follow(command, key: key)
    }

    private static func accept(_ command: Command, key: String, effects: inout Deque<Effect>) {
        if command.wantsReceipt { effects.append(.answer { command.accept(DeliveryReceipt(key: key)) }) }
    }
}

// MARK: - Answers of the store

extension CommandStateMachine {
    /// The store has kept a delivery, or has not.
    ///
    /// - Returns: what the store is to be told.
    mutating func kept(
        _ delivery: StoredDelivery, _ id: Command.ID, _ result: Result<StoredDelivery, any Error>,
        effects: inout Deque<Effect>
    ) -> StoreCall? {
        guard !self.queues.isCommitted(id) else {
            // One that has ended meanwhile has told the store so, by the only key that it knew.
            guard let outcome = self.ledger.takeEnd(ofUnkept: id), case .success(var row) = result,
                row.key != delivery.key
            else { return nil }
            row.outcome = outcome
            return .end(row)
        }
        switch result {
        case .success(let row) where row.outcome == nil:
            let command = self.queues.commit(id)
            if row.key != delivery.key {
                self.ledger.rename(id, from: delivery.key, to: row.key)
                self.queues.rename(id, key: row.key)
            }
            for command in [command].compactMap(\.self) + self.ledger.followers(of: row.key) {
                Self.accept(command, key: row.key, effects: &effects)
            }
            self.beginNext(effects: &effects)
        case .success(let row):
            self.endKept(delivery, id, row.outcome ?? .success(.empty), isAccepted: true, effects: &effects)
        case .failure(let error):
            let refusal = LinkspanError(
                .notKept, "'\(delivery.event)' could not be stored", cause: error, certainty: .notSent)
            self.endKept(delivery, id, .failure(refusal), isAccepted: false, effects: &effects)
        }
        return nil
    }

    /// Ends a delivery that the store has no row for, or one with an outcome: it is not told.
    private mutating func endKept(
        _ delivery: StoredDelivery, _ id: Command.ID, _ outcome: Result<Payload, LinkspanError>, isAccepted: Bool,
        effects: inout Deque<Effect>
    ) {
        guard let removed = self.queues.remove(id) else { return }
        let followers = self.ledger.remove(id, key: delivery.key)?.followers ?? []
        for command in [removed.command] + followers {
            if isAccepted { Self.accept(command, key: delivery.key, effects: &effects) }
            effects.append(.finish(command, outcome))
        }
        self.beginNext(effects: &effects)
    }

    /// The store has looked for a delivery that a caller waits for.
    mutating func found(
        key: String, session: UInt64, _ result: Result<StoredDelivery?, any Error>, effects: inout Deque<Effect>
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
        for command in self.ledger.removeFollowers(key: key) { effects.append(.finish(command, outcome)) }
    }
}

// MARK: - What an earlier process left

extension CommandStateMachine {
    /// Asks the store to open the account; new deliveries wait until the kept ones are loaded.
    mutating func openStore(effects: inout Deque<Effect>) {
        guard self.ledger.isStored, !self.isEnded else { return }
        let session = self.ledger.beginSession()
        self.queues.holdNew()
        effects.append(.callStore(.open(account: self.ledger.account, session: session)))
        effects.append(.callStore(.session(account: self.ledger.account, session: session)))
    }

    /// Whether an answer belongs to the present opening of the account.
    func isCurrent(storeSession: UInt64) -> Bool { self.ledger.session == storeSession }

    /// The account whose session is to be kept; nil while the store has not opened it.
    var openAccount: String?? {
        switch self.ledger.backlog {
        case .closed, .opening: nil
        case .loading, .complete: .some(self.ledger.account)
        }
    }

    /// Closes the account, so that another connection may have it.
    mutating func closeStore(effects: inout Deque<Effect>) {
        guard self.ledger.isStored else { return }
        if self.ledger.endSession() { effects.append(.callStore(.close(account: self.ledger.account))) }
    }

    /// Belongs to another account from now on.
    mutating func changeAccount(_ account: String?, effects: inout Deque<Effect>) {
        guard self.ledger.isStored else { return }
        self.closeStore(effects: &effects)
        self.ledger.account = account
        self.openStore(effects: &effects)
    }

    /// Asks again what the store has failed to answer.
    mutating func retryStore(session: UInt64, effects: inout Deque<Effect>) {
        guard session == self.ledger.session else { return }
        switch self.ledger.backlog {
        case .opening:
            effects.append(.callStore(.open(account: self.ledger.account, session: session)))
        case .loading(let number, isAsked: true):
            self.ledger.backlog = .loading(after: number, isAsked: false)
            self.loadMore(effects: &effects)
        case .closed, .loading, .complete: ()
        }
    }

    mutating func storeOpened(
        _ account: String?, session: UInt64, _ result: Result<Void, any Error>, effects: inout Deque<Effect>
    ) {
        guard session == self.ledger.session else {
            // Not needed any more.
            if case .success = result { effects.append(.callStore(.close(account: account))) }
            return
        }
        switch result {
        case .success:
            self.ledger.backlog = .loading(after: 0, isAsked: false)
            self.loadMore(effects: &effects)
        case .failure(let error):
            effects.append(.retryStore(session: session, error))
        }
    }

    /// Asks for rows while less than a turn of the flush waits.
    ///
    /// Beyond that while the link has been given every delivery that may be sent, so that an ordering key without an answer
    /// holds up no other one.
    mutating func loadMore(effects: inout Deque<Effect>) {
        guard let deliveries = self.deliveries, case .loading(let number, isAsked: false) = deliveries.ledger.backlog,
            deliveries.queues.restoredCount < self.options.flush.commands
                || self.isOpen && deliveries.queues.isBlocked(within: self.options.deliveries.limits)
        else { return }
        self.ledger.backlog = .loading(after: number, isAsked: true)
        effects.append(
            .callStore(
                .load(
                    account: self.ledger.account, after: number, rows: self.options.flush.commands,
                    bytes: self.options.flush.bytes, session: self.ledger.session)))
    }

    mutating func storeLoaded(
        session: UInt64, _ result: Result<[StoredDelivery], any Error>, now: Moment,
        effects: inout Deque<Effect>
    ) {
        guard session == self.ledger.session, case .loading(_, isAsked: true) = self.ledger.backlog else { return }
        switch result {
        case .failure(let error):
            effects.append(.retryStore(session: session, error))
        case .success(let rows):
            if let last = rows.last {
                for row in self.ledger.waiting(of: rows) { self.restore(row, now: now, effects: &effects) }
                // Some may have expired while no process had them.
                self.expire(now: now, effects: &effects)
                self.ledger.backlog = .loading(after: last.number, isAsked: false)
                self.loadMore(effects: &effects)
            } else {
                self.ledger.backlog = .complete
                self.queues.releaseNew()
            }
            self.beginNext(effects: &effects)
        }
    }

    /// Takes a delivery that was kept before; a command of this process with the same key ends with it.
    private mutating func restore(
        _ row: StoredDelivery, now: Moment, effects: inout Deque<Effect>
    ) {
        let command = Command(restored: row)
        if let former = self.ledger.delivery(row.key) {
            let isCommitted = self.queues.isCommitted(former)
            guard let repeated = self.queues.remove(former)?.command else { return }
            if !isCommitted { Self.accept(repeated, key: row.key, effects: &effects) }
            self.ledger.follow(repeated, key: row.key)
        }
        self.ledger.add(command.id, key: row.key)
        self.queues.restore(command, orderingKey: row.orderingKey)
        self.watch(command, made: now)
    }
}

// MARK: - Repetition

extension CommandStateMachine {
    /// The payload of a delivery with its key where the server expects it.
    func payload(of delivery: Command) -> Payload {
        guard let key = delivery.key else { return delivery.payload }
        return switch self.options.deliveries.keyPlacement {
        case .none: delivery.payload
        case .lastArgument: delivery.payload.appending(key)
        // An earlier process may have accepted it under other rules; without its key it may be applied twice, not lost.
        case .field(let name): delivery.payload.adding(key, as: name)
        }
    }

    /// Sends deliveries again that were not answered in time, unless that was their last attempt.
    mutating func sendAgain(_ ids: [Command.ID], now: Moment, effects: inout Deque<Effect>) {
        var exhausted: Set<Command.ID> = []
        for id in ids {
            // One that the link did not take at first has a later instant by now.
            guard self.awaited.contains(id), self.queues.mayRepeat(id, now: now) else { continue }
            if self.queues.tried == id { self.endTrials(effects: &effects) }
            if let limit = self.options.deliveries.attempts, self.queues.attempts(of: id) ?? 0 >= limit {
                exhausted.insert(id)
            } else {
                self.queues.interrupt(id)
            }
        }
        for (command, certainty) in self.remove(exhausted, effects: &effects) {
            effects.append(command.fail(.timedOut, certainty, "got no reply to its last attempt"))
        }
        self.beginNext(effects: &effects)
    }

    /// Ends deliveries that were given to links as often as they may be.
    mutating func endExhausted(effects: inout Deque<Effect>) {
        guard let limit = self.options.deliveries.attempts, let deliveries = self.deliveries else { return }
        for command in deliveries.queues.removeHeads(givenTimes: limit) {
            effects.append(command.fail(.timedOut, .unknown, "got no reply to its last attempt"))
        }
    }
}

// MARK: - Ends of deliveries

extension CommandStateMachine {
    /// The policy that judges a reply; nil for the reply to another command than a delivery.
    func policy(forReplyTo requestID: UInt64) -> ReplyPolicy? {
        guard let policy = self.options.deliveries.replies, self.awaited[requestID]?.isDelivery == true else {
            return nil
        }
        return policy
    }

    /// The outcome that a reply means for its command; nil for a delivery that is to be sent again.
    mutating func outcome(
        ofReply reply: Payload, _ verdict: ReplyPolicy.Verdict?, to requestID: UInt64, effects: inout Deque<Effect>
    ) -> Result<Payload, LinkspanError>? {
        guard let verdict, let command = self.awaited[requestID], case .deliver(let orderingKey) = command.kind else {
            return .success(reply)
        }
        switch verdict {
        case .taken: return .success(reply)
        case .refused: return .failure(command.failure(.messageRefused, "was refused by the server", details: reply))
        case .later:
            // Until then it counts as unanswered, but it has not ended its link.
            self.queues.acquit(command.id)
            self.beginNext(effects: &effects)
            guard let refused = self.queues.noteRefusal(of: command.id) else { return nil }
            guard refused.refusals >= self.options.deliveries.refusals else {
                if let call = self.postponed(refused, orderingKey: orderingKey) { effects.append(.callStore(call)) }
                return nil
            }
            let fate = "was set aside: the server postponed it \(self.options.deliveries.refusals) times"
            return .failure(command.failure(.setAside, fate, details: reply))
        }
    }

    /// A command has its outcome: if it stands for a delivery, what waits for that ends with it.
    ///
    /// - Returns: what the store is to be told.
    mutating func ended(
        _ command: Command, _ outcome: Result<Payload, LinkspanError>, effects: inout Deque<Effect>
    ) -> StoreCall? {
        guard command.isDelivery, case .deliver(let orderingKey) = command.kind, let key = command.key,
            let (account, followers) = self.ledger.remove(command.id, key: key)
        else { return nil }
        for follower in followers { effects.append(.finish(follower, outcome)) }
        guard self.ledger.isStored else { return nil }
        self.loadMore(effects: &effects)
        // What left with its connection has not ended: the next connection of the account goes on.
        if case .failure(let error) = outcome, error.leavesDeliveries { return nil }
        if command.isUnkept, command.hasMadeKey { self.ledger.noteEnd(ofUnkept: command.id, outcome) }
        var row = StoredDelivery(command, key: key, account: account, orderingKey: orderingKey)
        row.outcome = outcome
        return .end(row)
    }

    /// The note for the store about a delivery that the server has asked to come later; nil when there is no store.
    func postponed(_ command: Command, orderingKey: String) -> StoreCall? {
        guard self.ledger.isStored, let key = command.key, let account = self.ledger.account(of: key) else {
            return nil
        }
        return .postpone(StoredDelivery(command, key: key, account: account, orderingKey: orderingKey))
    }
}

extension LinkspanError {
    fileprivate var leavesDeliveries: Bool { [.released, .loggedOut, .moved].contains(self.code) }
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
