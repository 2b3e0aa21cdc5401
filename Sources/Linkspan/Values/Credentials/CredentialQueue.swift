internal import LinkspanRuntime

/// The connections that wait for credentials of one server or endpoint, and the call of the provider that they wait for.
///
/// At most one call is under way. A connection joins it when the answer suffices; one whose credentials were refused or
/// expire waits for the next call when the present one does not ask for newer ones.
struct CredentialQueue: Sendable {
    /// A connection that wants credentials.
    struct Waiter: Sendable {
        /// Counts the waiters of a source, from 1.
        let id: UInt64
        let request: CredentialRequest
        /// The generation of the credentials that were refused or expire; 0 for none.
        let held: UInt64
        let answer: @Sendable (Result<IssuedCredentials, LinkspanError>) -> Void
    }

    /// A call of the provider.
    ///
    /// It bears the number of the waiter for whom it was made.
    struct Call: Sendable {
        let id: UInt64
        let request: CredentialRequest
        fileprivate(set) var task: Task<Void, Never>?
        fileprivate(set) var waiters: [UInt64: Waiter] = [:]

        /// Those who wait, in the order in which they came.
        var waitersInOrder: [Waiter] { self.waiters.values.sorted { $0.id < $1.id } }
    }

    enum OnAsk: Sendable {
        case answer(IssuedCredentials)
        case call(UInt64, CredentialRequest)
        case wait
    }

    enum OnLeave: Sendable {
        /// Nobody waits for this call any more. Others may wait behind it, who are to be asked for again.
        case abandon(Call, behind: [Waiter])
        case nothing
    }

    private var call: Call?
    private var behind: [UInt64: Waiter] = [:]
    /// The newest credentials, unless the provider has been notified of their refusal since.
    private var newest: IssuedCredentials?
    /// The generation of the newest answer of a provider that had been told that the former ones will not do.
    private var lastRenewal: UInt64 = 0

    /// Whether this scope can be forgotten without loss.
    func isIdle(at now: Moment) -> Bool {
        self.call == nil && self.behind.isEmpty && !(self.newest?.isTrusted(at: now) ?? false)
    }

    /// All who wait, for the call or behind it.
    var waiters: [Waiter] { (self.call?.waitersInOrder ?? []) + self.behind.values }

    /// The task of the call that is under way.
    var task: Task<Void, Never>? { self.call?.task }

    mutating func ask(_ waiter: Waiter, now: Moment) -> OnAsk {
        if let newest = self.newest, self.suffices(newest, for: waiter, now: now) { return .answer(newest) }
        let reason = waiter.request.reason
        // Asked without a copy of the call, which would be a copy of all its waiters.
        guard let isRenewal = self.call?.request.reason.isRenewal else {
            if reason == .refused { self.newest = nil }
            self.call = Call(id: waiter.id, request: waiter.request, waiters: [waiter.id: waiter])
            return .call(waiter.id, waiter.request)
        }
        if reason.isRenewal, !isRenewal {
            self.behind[waiter.id] = waiter
        } else {
            self.call?.waiters[waiter.id] = waiter
        }
        return .wait
    }

    /// Keeps the task of a call, to cancel it; false when the call is over.
    mutating func keep(_ task: Task<Void, Never>, for id: UInt64) -> Bool {
        guard self.call?.id == id else { return false }
        self.call?.task = task
        return true
    }

    mutating func leave(_ id: UInt64) -> OnLeave {
        if self.behind.removeValue(forKey: id) != nil { return .nothing }
        guard self.call?.waiters.removeValue(forKey: id) != nil, let call = self.call, call.waiters.isEmpty else {
            return .nothing
        }
        self.call = nil
        return .abandon(call, behind: self.takeBehind())
    }

    /// The provider has answered or failed.
    ///
    /// - Returns: the call, and those who wait behind it and are to be asked for again; nil when it was given up before.
    mutating func end(_ id: UInt64) -> (call: Call, behind: [Waiter])? {
        guard let call = self.call, call.id == id else { return nil }
        self.call = nil
        return (call, self.takeBehind())
    }

    /// Keeps what the provider answered.
    mutating func keep(_ issued: IssuedCredentials) {
        self.newest = issued
        if issued.reason.isRenewal { self.lastRenewal = issued.generation }
    }

    private func suffices(_ newest: IssuedCredentials, for waiter: Waiter, now: Moment) -> Bool {
        switch waiter.request.reason {
        case .first, .retry: newest.isReusable(at: now)
        case .expiring: newest.generation > waiter.held && newest.isReusable(at: now)
        case .refused: self.lastRenewal > waiter.held && newest.isTrusted(at: now)
        }
    }

    /// Refused ones come first, so that the provider gets the stronger reason.
    private mutating func takeBehind() -> [Waiter] {
        defer { self.behind = [:] }
        return self.behind.values.sorted { left, right in
            let (isLeft, isRight) = (left.request.reason == .refused, right.request.reason == .refused)
            return isLeft == isRight ? left.id < right.id : isLeft
        }
    }
}
