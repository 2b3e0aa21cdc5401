private import CLinkspanRuntime
internal import LinkspanRuntime

/// Turns host names into numeric addresses on threads of its own, because the system's look-up blocks and cannot be
/// cancelled.
///
/// A name is looked up once at a time, for all who ask meanwhile, on at most ``Limits/quick`` and ``Limits/patient``
/// threads. Each name is asked for quickly first. One that gets no answer in that time goes to the few threads that wait as
/// long as the system does, and begins there the next time. Beyond a handful, quick look-ups begin one after the other, the
/// newest name first: so threads become free one after the other, too, and names that hang hold up one that does not for a
/// moment only, however many they are.
package final class Resolver: Sendable {
    package typealias Completion = @Sendable (Result<[String], ByteStreamError>) -> Void
    /// Looks a name up, perhaps only for about a second.
    package typealias Lookup = @Sendable (_ name: String, _ isQuick: Bool) -> Result<[String], ByteStreamError>

    /// Names a call of ``resolve(_:_:)``, to take it back.
    package struct Request: Sendable, Hashable {
        fileprivate let name: String
        fileprivate let number: UInt64
    }

    package struct Limits: Sendable {
        /// Threads for quick look-ups.
        package var quick: Int
        /// How many of these begin at once.
        package var eager: Int
        /// Threads for names that got no answer in time.
        package var patient: Int
        /// A look-up that fails after this has had no answer in time.
        package var patience: Duration

        package init(quick: Int = 24, eager: Int = 8, patient: Int = 8, patience: Duration = .milliseconds(500)) {
            self.quick = quick
            self.eager = eager
            self.patient = patient
            self.patience = patience
        }
    }

    package static let system = Resolver(lookup: Resolver.addresses(of:isQuick:))

    /// Look-ups under way: between loops and the threads that resolve.
    private let state: Lock<State>
    private let lookup: Lookup
    private let now: @Sendable () -> ContinuousClock.Instant
    private let pause: @Sendable () -> Void

    /// - Parameters:
    ///   - limits: the number of threads, and when a look-up has had no answer in time.
    ///   - now: the clock that times look-ups.
    ///   - pause: blocks the calling thread between two quick look-ups that do not begin at once.
    ///   - lookup: looks a name up, and blocks the calling thread meanwhile.
    package init(
        limits: Limits = Limits(), now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        pause: @escaping @Sendable () -> Void = { _ = usleep(40_000) }, lookup: @escaping Lookup
    ) {
        self.state = Lock(State(limits: limits))
        self.lookup = lookup
        self.now = now
        self.pause = pause
    }

    /// Looks `name` up and calls `completion` on another thread, or at once when no thread can be had.
    @discardableResult
    package func resolve(_ name: String, _ completion: @escaping Completion) -> Request {
        let (request, step) = self.state.withLock { $0.add(name, completion) }
        self.start(step)
        return request
    }

    /// Takes a request back: a name that nobody waits for any more is not looked up, unless that has begun.
    package func forget(_ request: Request) {
        // Let go of outside the lock, because that may run foreign code.
        _ = self.state.withLock { $0.forget(request) }
    }

    private func start(_ step: State.Step?) {
        guard let step, !SystemThread.start(name: "linkspan-dns", { self.work(step) }) else { return }
        // What waits for a thread that the system would not start ends, unless another one is at work.
        for completion in self.state.withLock({ $0.noThread(for: step) }) {
            completion(.failure(ByteStreamError(.unavailable, "no thread for a name look-up")))
        }
    }

    private func work(_ first: State.Step) {
        var step: State.Step? = first
        while let current = step {
            if current == .pause { self.pause() }
            let (name, more) = self.state.withLock { $0.take(current) }
            self.start(more)
            guard let name else { return }
            let (start, isQuick) = (self.now(), current != .patient)
            let result = self.lookup(name, isQuick)
            let time = start.duration(to: self.now())
            let (completions, other) = self.state.withLock { $0.ended(name, result, after: time, isQuick: isQuick) }
            self.start(other)
            for completion in completions { completion(result) }
            step = self.state.withLock { $0.next(after: current) }
        }
    }
}

extension Resolver {
    fileprivate struct State: Sendable {
        /// What a thread does next.
        enum Step { case quick, pause, patient }

        /// Names that are looked up in one way.
        private struct Line {
            /// Those to come, the next one last.
            var names: [String] = []
            /// The threads at work, or started for it.
            var threads = 0
        }

        /// The most names that are remembered.
        private static let maximumNames = 4096

        let limits: Limits
        private var waiting: [String: [UInt64: Completion]] = [:]
        private var (quick, patient) = (Line(), Line())
        /// Whether one of the quick threads pauses.
        private var isPausing = false
        /// The names that got no answer in time.
        private var overdue: Set<String> = []
        private var running: Set<String> = []
        private var requests: UInt64 = 0

        init(limits: Limits) { self.limits = limits }
    }
}

extension Resolver.State {
    /// Takes a request; returns what a thread is to be started for.
    mutating func add(_ name: String, _ completion: @escaping Resolver.Completion) -> (Resolver.Request, Step?) {
        self.requests += 1
        let request = Resolver.Request(name: name, number: self.requests)
        let isNew = self.waiting[name] == nil && !self.running.contains(name)
        self.waiting[name, default: [:]][request.number] = completion
        guard isNew else { return (request, nil) }
        guard self.overdue.contains(name) else {
            self.quick.names.append(name)
            return (request, self.startQuick())
        }
        return (request, self.addPatient(name))
    }

    mutating func forget(_ request: Resolver.Request) -> Resolver.Completion? {
        let completion = self.waiting[request.name]?.removeValue(forKey: request.number)
        guard self.waiting[request.name]?.isEmpty == true else { return completion }
        self.waiting[request.name] = nil
        self.quick.names.removeAll { $0 == request.name }
        self.patient.names.removeAll { $0 == request.name }
        return completion
    }

    /// The next name for a thread, which ends without one, and what another thread is to be started for.
    mutating func take(_ step: Step) -> (String?, Step?) {
        if step == .pause { self.isPausing = false }
        guard let name = self[step].names.popLast() else {
            self[step].threads -= 1
            return (nil, nil)
        }
        self.running.insert(name)
        return (name, step == .pause && !self.quick.names.isEmpty ? self.startQuick() : nil)
    }

    /// What a thread does after a look-up; nil when it ends.
    mutating func next(after step: Step) -> Step? {
        if step == .patient, !self.patient.names.isEmpty { return step }
        self[step].threads -= 1
        return step == .patient || self.quick.names.isEmpty ? nil : self.startQuick()
    }

    /// A look-up has ended; returns who waits for it, and what a thread is to be started for.
    mutating func ended(
        _ name: String, _ result: Result<[String], ByteStreamError>, after time: Duration, isQuick: Bool
    ) -> ([Resolver.Completion], Step?) {
        self.running.remove(name)
        let isAnswered = (try? result.get()) != nil
        if time <= self.limits.patience {
            self.overdue.remove(name)
        } else if !isAnswered {
            if self.overdue.count >= Self.maximumNames { self.overdue = [] }
            self.overdue.insert(name)
            if isQuick, self.waiting[name] != nil { return ([], self.addPatient(name)) }
        }
        return (self.waiting.removeValue(forKey: name).map { Array($0.values) } ?? [], nil)
    }

    /// A thread could not be started; returns who would wait in vain, because there is none.
    mutating func noThread(for step: Step) -> [Resolver.Completion] {
        if step == .pause { self.isPausing = false }
        self[step].threads -= 1
        guard self[step].threads == 0 else { return [] }
        defer { self[step].names = [] }
        return self[step].names.flatMap { self.waiting.removeValue(forKey: $0).map { Array($0.values) } ?? [] }
    }

    private mutating func addPatient(_ name: String) -> Step? {
        self.patient.names.append(name)
        guard self.patient.threads < self.limits.patient else { return nil }
        self.patient.threads += 1
        return .patient
    }

    /// One more thread for quick look-ups, if there may be one; beyond a handful it pauses first, one at a time.
    private mutating func startQuick() -> Step? {
        let isEager = self.quick.threads < self.limits.eager
        guard isEager || (!self.isPausing && self.quick.threads < self.limits.quick) else { return nil }
        self.quick.threads += 1
        if !isEager { self.isPausing = true }
        return isEager ? .quick : .pause
    }

    /// The names and threads that a step belongs to.
    private subscript(step: Step) -> Line {
        get { step == .patient ? self.patient : self.quick }
        set { if step == .patient { self.patient = newValue } else { self.quick = newValue } }
    }
}

extension Resolver {
    /// The addresses that the system's resolver has for a name.
    ///
    /// - Parameters:
    ///   - name: the host's name.
    ///   - isQuick: whether each name server is asked once and for a second, where the system allows that.
    /// - Returns: the addresses in the resolver's order, each once.
    package static func addresses(of name: String, isQuick: Bool) -> Result<[String], ByteStreamError> {
        clinkspan_resolve_quickly(isQuick)
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
