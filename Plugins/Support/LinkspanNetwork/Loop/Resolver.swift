private import CLinkspanRuntime
internal import LinkspanRuntime

/// Turns host names into numeric addresses on threads of its own, because the system's look-up blocks and cannot be
/// cancelled.
///
/// A name is looked up once at a time, for all who ask meanwhile, so that a name server that does not answer holds one
/// thread for each of its names. Threads are started on demand, end when there is nothing left to do, and are shared out
/// by what is known of a name: those that took long the last time leave room for names never asked before, and these
/// leave room for names that were answered. So names that hang and were asked before starve no name that does not, however many.
package final class Resolver: Sendable {
    package typealias Completion = @Sendable (Result<[String], ByteStreamError>) -> Void
    package typealias Lookup = @Sendable (String) -> Result<[String], ByteStreamError>

    /// Names a call of ``resolve(_:_:)``, to take it back.
    package struct Request: Sendable, Hashable {
        fileprivate let name: String
        fileprivate let number: UInt64
    }

    /// The result of a name's last look-up, in the order in which waiting names are taken.
    package enum Record: CaseIterable, Sendable { case answered, unknown, overdue }

    package static let system = Resolver(lookup: Resolver.addresses(of:))

    /// Look-ups under way: between loops and the threads that resolve.
    private let state: Lock<State>
    private let lookup: Lookup
    private let now: @Sendable () -> ContinuousClock.Instant

    /// Makes a resolver.
    ///
    /// - Parameters:
    ///   - threads: a look-up begins when fewer threads than its name's limit are at work, whatever names these work for.
    ///   - now: the present.
    ///   - lookup: looks a name up.
    package init(
        threads: [Record: Int] = [.answered: 256, .unknown: 248, .overdue: 40],
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        lookup: @escaping Lookup
    ) {
        self.state = Lock(State(limits: threads))
        self.lookup = lookup
        self.now = now
    }

    /// Looks `name` up and calls `completion` on another thread, or at once when no thread can be had.
    @discardableResult
    package func resolve(_ name: String, _ completion: @escaping Completion) -> Request {
        let (request, startsThread) = self.state.withLock { $0.add(name, completion) }
        if startsThread, !SystemThread.start(name: "linkspan-dns", { self.work() }) { self.fail() }
        return request
    }

    /// Takes a request back: a name that nobody waits for any more is not looked up, unless that has begun.
    package func forget(_ request: Request) {
        // Let go of outside the lock, because that may run foreign code.
        _ = self.state.withLock { $0.forget(request) }
    }

    private func work() {
        var name = self.state.withLock { $0.next() }
        while let current = name {
            let start = self.now()
            let result = self.lookup(current)
            let time = start.duration(to: self.now())
            let completions = self.state.withLock { $0.ended(current, result, after: time) }
            for completion in completions { completion(result) }
            name = self.state.withLock { $0.next() }
        }
    }

    /// Ends what waits for a thread that the system would not start, unless another one is at work.
    private func fail() {
        for completion in self.state.withLock({ $0.noThread() }) {
            completion(.failure(ByteStreamError(.unavailable, "no thread for a name look-up")))
        }
    }
}

extension Resolver {
    fileprivate struct State: Sendable {
        /// The most names that are remembered.
        private static let maximumRecords = 4096

        /// Above this a look-up that fails took too long: a name server's first answer is overdue.
        private static let patience = Duration.seconds(2)

        let limits: [Record: Int]
        private var waiting: [String: [UInt64: Completion]] = [:]
        /// Names to be looked up, the first one next, by what is known of them.
        private var queues: [Record: [String]] = [:]
        private var records: [String: Record] = [:]
        private var running: Set<String> = []
        private var threads = 0
        private var requests: UInt64 = 0

        init(limits: [Record: Int]) { self.limits = limits }
    }
}

extension Resolver.State {
    /// Takes a request; returns whether a thread is to be started.
    mutating func add(
        _ name: String, _ completion: @escaping Resolver.Completion
    ) -> (Resolver.Request, startsThread: Bool) {
        self.requests += 1
        let request = Resolver.Request(name: name, number: self.requests)
        if self.waiting[name] == nil, !self.running.contains(name) {
            self.queues[self.records[name] ?? .unknown, default: []].append(name)
        }
        self.waiting[name, default: [:]][request.number] = completion
        guard self.nextKind != nil else { return (request, false) }
        self.threads += 1
        return (request, true)
    }

    mutating func forget(_ request: Resolver.Request) -> Resolver.Completion? {
        let completion = self.waiting[request.name]?.removeValue(forKey: request.number)
        guard self.waiting[request.name]?.isEmpty == true else { return completion }
        self.waiting[request.name] = nil
        for kind in Resolver.Record.allCases { self.queues[kind]?.removeAll { $0 == request.name } }
        return completion
    }

    /// The next name for the calling thread, or nil when that is to end.
    mutating func next() -> String? {
        self.threads -= 1
        guard let kind = self.nextKind, let name = self.queues[kind]?.removeFirst() else { return nil }
        self.threads += 1
        self.running.insert(name)
        return name
    }

    /// A look-up has ended; returns who waits for it.
    mutating func ended(
        _ name: String, _ result: Result<[String], ByteStreamError>, after time: Duration
    ) -> [Resolver.Completion] {
        self.running.remove(name)
        if self.records.count >= Self.maximumRecords { self.records = [:] }
        let isAnswered = (try? result.get()) != nil || time <= Self.patience
        self.records[name] = isAnswered ? .answered : .overdue
        return self.waiting.removeValue(forKey: name).map { Array($0.values) } ?? []
    }

    /// A thread could not be started; returns who would wait in vain, because there is none.
    mutating func noThread() -> [Resolver.Completion] {
        self.threads -= 1
        guard self.threads == 0 else { return [] }
        let names = self.queues.values.joined()
        self.queues = [:]
        return names.flatMap { self.waiting.removeValue(forKey: $0).map { Array($0.values) } ?? [] }
    }

    /// The first kind of which a name waits that one more thread may look up.
    private var nextKind: Resolver.Record? {
        Resolver.Record.allCases.first { kind in
            self.queues[kind]?.isEmpty == false && self.threads < self.limits[kind, default: 0]
        }
    }
}

extension Resolver {
    /// The addresses that the system's resolver has for a name, in its order, each once.
    package static func addresses(of name: String) -> Result<[String], ByteStreamError> {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        #if canImport(Glibc)
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #else
        hints.ai_socktype = SOCK_STREAM
        #endif
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(name, nil, &hints, &list)
        guard code == 0 else {
            let text = gai_strerror(code).map { String(cString: $0) } ?? "error \(code)"
            return .failure(ByteStreamError(.nameNotResolved, "the host's name was not resolved: \(text)"))
        }
        defer { freeaddrinfo(list) }
        var addresses: [String] = []
        var entry = list
        while let info = entry?.pointee {
            if let address = Self.numeric(info), !addresses.contains(address) { addresses.append(address) }
            entry = info.ai_next
        }
        return .success(addresses)
    }

    private static func numeric(_ info: addrinfo) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(NI_MAXHOST)) { text in
            let size = socklen_t(text.count)
            let code = getnameinfo(info.ai_addr, info.ai_addrlen, text.baseAddress, size, nil, 0, NI_NUMERICHOST)
            guard code == 0, let start = text.baseAddress else { return nil }
            return String(cString: start)
        }
    }
}
