internal import Dispatch
internal import LinkspanRuntime
internal import LinkspanTesting

@testable internal import LinkspanLifecycle

/// What happened, in order, from any thread.
final class Journal: Sendable {
    private let lines = Lock<[String]>([])

    func add(_ line: String) {
        self.lines.withLock { $0.append(line) }
    }

    var all: [String] { self.lines.withLock { $0 } }

    func all(with prefix: String) -> [String] {
        self.all.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
    }
}

/// A door that tasks wait at without blocking a thread, and that ignores cancellation.
final class Door: Sendable {
    private struct State: Sendable {
        var isOpen = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Lock(State())

    func open() {
        let waiting = self.state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting {
            continuation.resume()
        }
    }

    func pass() async {
        await withCheckedContinuation { continuation in
            let isOpen = self.state.withLock { state in
                if !state.isOpen {
                    state.waiting.append(continuation)
                }
                return state.isOpen
            }
            if isOpen {
                continuation.resume()
            }
        }
    }
}

/// A wall that threads are blocked at until the test takes it down.
final class Wall: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    func block() {
        self.semaphore.wait()
        self.semaphore.signal()
    }

    func takeDown() {
        self.semaphore.signal()
    }
}

struct Trouble: Error, CustomStringConvertible {
    var description: String { "trouble" }
}

/// A service that does what the test says.
struct Probe: LifecycleService {
    typealias Action = @Sendable (ServiceScope) async throws -> Void

    var name: ServiceName
    var placement = Placement()
    var budgets = Budgets()
    var importance: Importance = .optional
    var onStart: Action = { _ in }
    var onRun: Action = { _ in }
    var onQuiesce: Action = { _ in }
    var onStop: Action = { _ in }

    init(_ name: ServiceName, _ configure: (inout Probe) -> Void = { _ in }) {
        self.name = name
        configure(&self)
    }

    /// A probe that writes what happens to it.
    init(_ name: ServiceName, in journal: Journal, _ configure: (inout Probe) -> Void = { _ in }) {
        self.init(name)
        self.onStart = { _ in journal.add("start \(name)") }
        self.onQuiesce = { _ in journal.add("quiesce \(name)") }
        self.onStop = { _ in journal.add("stop \(name)") }
        configure(&self)
    }

    func start(_ scope: ServiceScope) async throws { try await self.onStart(scope) }
    func run(_ scope: ServiceScope) async throws { try await self.onRun(scope) }
    func quiesce(_ scope: ServiceScope) async throws { try await self.onQuiesce(scope) }
    func stop(_ scope: ServiceScope) async throws { try await self.onStop(scope) }
}

/// A service that follows messages and connections.
final class Listener: MessageObserving, ConnectionObserving, FaultObserving {
    let name: ServiceName
    let budgets: Budgets
    let journal: Journal
    private let onMessage: @Sendable (Stamped<MessageEvent>, ServiceScope) async throws -> Void

    init(
        _ name: ServiceName, budgets: Budgets = Budgets(), journal: Journal = Journal(),
        onMessage: @escaping @Sendable (Stamped<MessageEvent>, ServiceScope) async throws -> Void = { _, _ in }
    ) {
        self.name = name
        self.budgets = budgets
        self.journal = journal
        self.onMessage = onMessage
    }

    func on(_ event: Stamped<MessageEvent>, _ scope: ServiceScope) async throws {
        self.journal.add("message \(event.event.event)")
        self.journal.add("seq \(event.seq)")
        if event.gap > 0 {
            self.journal.add("gap \(event.event.event) \(event.gap)")
        }
        if event.replayed {
            self.journal.add("replayed \(event.event.event)")
        }
        try await self.onMessage(event, scope)
    }

    func on(_ event: Stamped<ConnectionEvent>, _ scope: ServiceScope) async throws {
        self.journal.add("connection \(event.event.connection) \(event.event.kind)\(event.replayed ? " replayed" : "")")
        self.journal.add("seq \(event.seq)")
    }

    func on(_ event: Stamped<FaultEvent>, _ scope: ServiceScope) async throws {
        self.journal.add("fault \(event.event.code.rawValue) \(event.event.path)")
    }
}

func message(_ name: String) -> MessageEvent {
    MessageEvent(connection: 1, event: name, bytes: 0, kind: .received)
}

func connection(_ id: UInt64, _ kind: ConnectionEvent.Kind) -> ConnectionEvent {
    ConnectionEvent(connection: id, endpoint: "wss://chat.example", kind: kind)
}

/// A virtual clock for code that runs on threads of its own.
///
/// Work that is due already when it is scheduled runs at once, because no test moves the clock again for it.
struct ManualScheduler: Scheduler {
    private final class Done: ScheduledWork {
        func cancel() {}
    }

    private let clock = VirtualScheduler()

    var now: ContinuousClock.Instant { self.clock.now }

    /// How many deadlines wait.
    var pending: Int { self.clock.pendingCount }

    func schedule(
        at instant: ContinuousClock.Instant, on executor: (any JobExecutor)?, _ work: @escaping @Sendable () -> Void
    ) -> any ScheduledWork {
        guard instant <= self.clock.now else { return self.clock.schedule(at: instant, on: executor, work) }
        if let executor { executor.execute(work) } else { work() }
        return Done()
    }

    /// Moves the clock and runs what comes due, in order, each at its own time.
    func advance(by duration: Duration) { self.clock.advance(by: duration) }
}
