@testable import Linkspan
internal import Dispatch
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Logging
internal import Testing

extension PooledConnection {
    /// Asks the core, in a test whose executor runs jobs at once.
    func ask<Answer: Sendable>(_ question: @escaping @Sendable (ConnectionCore) -> Answer) throws -> Answer {
        let (answer, isAnswered) = (Lock<Answer?>(nil), DispatchSemaphore(value: 0))
        self.core.post { core in
            let given = question(core)
            answer.withLock { $0 = given }
            isAnswered.signal()
        }
        // Another thread may be running the executor's jobs.
        isAnswered.wait()
        let given = answer.withLock { $0 }
        return try #require(given)
    }

    /// When credentials are renewed ahead of their expiry.
    var renewalDeadline: Moment? { (try? self.ask { $0.credentials.deadline }) ?? nil }

    func isShown(generation: UInt64) -> Bool {
        (try? self.ask { $0.credentials.state.isShown(generation: generation) }) ?? false
    }
}

extension ConnectionCore {
    /// The receiver of a link's events.
    func makeAdapter(epoch: UInt64) -> LinkAdapter {
        LinkAdapter(
            core: self.reference, epoch: epoch, executor: self.home.executor, scheduler: self.environment.scheduler)
    }
}

extension ConnectionEnvironment {
    /// The part of a manager without limits of its own.
    convenience init(
        scheduler: any Scheduler, random: @escaping @Sendable () -> Double, logger: Logger,
        observer: (any ConnectionObserver)? = nil
    ) {
        self.init(
            scheduler: scheduler, random: random, logger: logger, observer: observer,
            attempts: SharedPool(AttemptLimits()))
    }
}

/// A router, as a test on one thread uses it.
// Unchecked because the compiler cannot see that there is one thread.
final class RouterDriver: @unchecked Sendable {
    let router: EventRouter
    private var lastID: UInt64 = 0

    init(limits: EventRouter.HoldLimits = EventRouter.HoldLimits()) { self.router = EventRouter(limits: limits) }

    func route(_ message: Message) { self.router.route(message) }

    func add(event: String?, _ handler: @escaping @Sendable (Message) -> Void) -> Subscription {
        self.add(EventListener(id: self.nextID(), hear: handler), event)
    }

    func addForItems(event: String?, _ handler: @escaping @Sendable (EventItem<Message>) -> Void) -> Subscription {
        self.add(
            EventListener(
                id: self.nextID(), onMark: { handler(.continuity($0)) }, hear: { handler(.message($0)) }), event)
    }

    func addOnce(
        event: String, onMark: (@Sendable (Continuity) -> Void)? = nil,
        _ handler: @escaping @Sendable (Message) -> Void
    ) -> Subscription {
        self.add(EventListener(id: self.nextID(), isOnce: true, onMark: onMark, hear: handler), event)
    }

    private func add(_ listener: EventListener, _ event: String?) -> Subscription {
        if self.router.add(listener, event: event), let event { self.router.replay(event) }
        return Subscription { self.router.remove(listener.id, event: event) }
    }

    private func nextID() -> UInt64 {
        self.lastID += 1
        return self.lastID
    }
}

extension ConnectionManager {
    /// Changes the options of the connection of a handler.
    @discardableResult
    func adjust(_ held: ConnectionHandler, _ options: ConnectionOptions) throws(LinkspanError) -> Bool {
        try self.adjust(held.connection, options)
    }
}
