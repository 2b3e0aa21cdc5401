internal import LinkspanRuntime

extension SharedCredentials {
    /// Decides who gets whose answer, over all servers of a source.
    ///
    /// Pure: time comes in, actions go out. News of a call or a waiter that is gone is dropped without a word: an
    /// ordinary race.
    struct StateMachine: Sendable {
        typealias Waiter = CredentialQueue.Waiter

        enum Action: Sendable {
            case call(UInt64, CredentialRequest, login: UInt64)
            case cancel(Task<Void, Never>)
            case answer([Waiter], Result<IssuedCredentials, LinkspanError>)
        }

        private struct Server: Sendable, Hashable {
            var scheme: String
            var host: String
            var port: Int

            init(_ url: ConnectionURL) { (self.scheme, self.host, self.port) = (url.scheme, url.host, url.port) }
        }

        /// For whom an answer is meant: never for another server, which would get to know what is not its own.
        private enum Scope: Sendable, Hashable {
            case server(Server)
            /// One answer serves all servers.
            case everywhere
            /// The credentials name a URL, which would lead the server's other connections astray.
            case endpoint(ConnectionURL)
        }

        static let loggedOut = LinkspanError(.credentialsUnavailable, "the credential source has been logged out")

        private let isForAllServers: Bool
        /// Counts the times that all was forgotten.
        private(set) var login: UInt64 = 0
        private var queues: [Scope: CredentialQueue] = [:]
        private var queueLimit = 16
        /// The scopes of waiters and of calls under way, by their numbers.
        private var places: [UInt64: Scope] = [:]
        private var calls: [UInt64: Scope] = [:]
        private var serversWithURLs: Set<Server> = []
        private var lastWaiter: UInt64 = 0
        /// The generation of the newest answer of all.
        private(set) var generation: UInt64 = 0

        init(isForAllServers: Bool = false) { self.isForAllServers = isForAllServers }
    }
}

extension SharedCredentials.StateMachine {
    /// A connection of a login wants credentials.
    ///
    /// - Returns: its number, by which it can leave.
    mutating func ask(
        _ request: CredentialRequest, login: UInt64, held: UInt64, now: Moment,
        answer: @escaping @Sendable (Result<IssuedCredentials, LinkspanError>) -> Void
    ) -> (id: UInt64, actions: [Action]) {
        self.lastWaiter += 1
        let waiter = Waiter(id: self.lastWaiter, request: request, held: held, answer: answer)
        // One that the log-out has not reached yet would ask for the user who has gone, and leave the answer to the next.
        guard login == self.login else { return (waiter.id, self.answer([waiter], .failure(Self.loggedOut))) }
        return (waiter.id, self.enqueue([waiter], now: now))
    }

    /// Keeps the task of a call, to cancel it; false when the call is over.
    mutating func keep(_ task: Task<Void, Never>, for call: UInt64) -> Bool {
        guard let scope = self.calls[call] else { return false }
        return self.queues[scope]?.keep(task, for: call) ?? false
    }

    /// A connection waits no longer.
    mutating func leave(_ id: UInt64, now: Moment) -> [Action] {
        guard let scope = self.places.removeValue(forKey: id) else { return [] }
        switch self.queues[scope]?.leave(id) {
        case .abandon(let call, let behind)?:
            self.calls[call.id] = nil
            return (call.task.map { [.cancel($0)] } ?? []) + self.enqueue(behind, now: now)
        case .nothing?, nil:
            return []
        }
    }

    /// The provider has answered.
    mutating func answered(_ id: UInt64, _ credentials: Credentials, now: Moment) -> [Action] {
        guard let (scope, call, behind) = self.end(id) else { return [] }
        self.generation += 1
        let issued = IssuedCredentials(
            credentials: credentials, generation: self.generation, issuedAt: now, reason: call.request.reason)
        var home = scope
        var waiters = call.waitersInOrder
        var others = behind
        if case .server(let server) = scope, credentials.url != nil {
            self.serversWithURLs.insert(server)
            self.queues[scope] = nil
            home = .endpoint(call.request.url)
            others += waiters.filter { $0.request.url != call.request.url }
            waiters = waiters.filter { $0.request.url == call.request.url }
        }
        self.queues[home, default: CredentialQueue()].keep(issued)
        return self.answer(waiters, .success(issued)) + self.enqueue(others, now: now)
    }

    /// The provider has failed.
    mutating func failed(_ id: UInt64, _ error: LinkspanError, now: Moment) -> [Action] {
        guard let (_, call, behind) = self.end(id) else { return [] }
        return self.answer(call.waitersInOrder, .failure(error)) + self.enqueue(behind, now: now)
    }

    /// Forgets all answers and all calls; an answer that comes yet is one to nobody.
    ///
    /// - Returns: the calls to cancel, and those who waited.
    mutating func forget() -> (calls: [Task<Void, Never>], waiters: [Waiter]) {
        let queues = self.queues.values
        let waiters = queues.flatMap(\.waiters).sorted { $0.id < $1.id }
        let tasks = queues.compactMap(\.task)
        self.login += 1
        self.queues = [:]
        self.places = [:]
        self.calls = [:]
        return (tasks, waiters)
    }
}

extension SharedCredentials.StateMachine {
    private mutating func enqueue(_ waiters: [Waiter], now: Moment) -> [Action] {
        waiters.flatMap { waiter -> [Action] in
            let scope = self.scope(of: waiter.request.url)
            if self.queues[scope] == nil { self.removeIdleQueues(now: now) }
            switch self.queues[scope, default: CredentialQueue()].ask(waiter, now: now) {
            case .answer(let issued):
                return self.answer([waiter], .success(issued))
            case .call(let id, let request):
                self.places[waiter.id] = scope
                self.calls[id] = scope
                return [.call(id, request, login: self.login)]
            case .wait:
                self.places[waiter.id] = scope
                return []
            }
        }
    }

    private mutating func end(_ id: UInt64) -> (Scope, CredentialQueue.Call, behind: [Waiter])? {
        guard let scope = self.calls.removeValue(forKey: id), let (call, behind) = self.queues[scope]?.end(id) else {
            return nil
        }
        return (scope, call, behind)
    }

    private mutating func answer(
        _ waiters: [Waiter], _ outcome: Result<IssuedCredentials, LinkspanError>
    ) -> [Action] {
        for waiter in waiters { self.places[waiter.id] = nil }
        return waiters.isEmpty ? [] : [.answer(waiters, outcome)]
    }

    private func scope(of url: ConnectionURL) -> Scope {
        guard !self.isForAllServers else { return .everywhere }
        let server = Server(url)
        return self.serversWithURLs.contains(server) ? .endpoint(url) : .server(server)
    }

    /// Makes room for another scope: from time to time drops the idle ones.
    private mutating func removeIdleQueues(now: Moment) {
        guard self.queues.count >= self.queueLimit else { return }
        self.queues = self.queues.filter { !$0.value.isIdle(at: now) }
        self.queueLimit = max(16, 2 * self.queues.count)
    }
}
