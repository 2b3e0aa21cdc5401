public import LinkspanRuntime
public import Logging

/// The front door: hands out connections, one per URL and identity, and keeps them.
///
/// The identity is the credential source and what else tells the server who connects, such as a client certificate:
/// callers share a connection only when they share the value of the source. "No credentials" is an identity of its own.
///
/// Apps use ``shared``; servers and tests make their own.
public final class ConnectionManager: Sendable {
    /// The manager of the process.
    public static let shared = ConnectionManager()

    private let factory: any ConnectionFactory
    private let logger: Logger
    let scheduler: any Scheduler
    private let rules: [any KeeperRule]
    private let keeperPeriod: Duration
    let backgroundIdleTimeout: Duration
    let pool: SharedPool

    /// Makes a manager.
    ///
    /// - Parameters:
    ///   - scheduler: the clock.
    ///   - random: random numbers from 0 up to 1, for jitter.
    ///   - rules: the keeper's chain; ``standardRules`` by default.
    ///   - keeperPeriod: how often the keeper looks at the pool. It also looks whenever a holder leaves, and at once when
    ///     it hears a ``KeeperSignal``.
    ///   - backgroundIdleTimeout: how long connections stay up in the background.
    ///   - attempts: how many attempts may be made, however many connections there are.
    ///   - factory: makes the connections; nil for the SDK's own.
    ///   - logger: gets state changes, at level debug, and what looks like a mistake, at level notice.
    public convenience init(
        scheduler: any Scheduler = SystemScheduler.shared,
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) },
        rules: [any KeeperRule] = ConnectionManager.standardRules, keeperPeriod: Duration = .seconds(5),
        backgroundIdleTimeout: Duration = .seconds(30), attempts: AttemptLimits = AttemptLimits(),
        factory: (any ConnectionFactory)? = nil,
        logger: Logger = Logger(label: "linkspan")
    ) {
        self.init(
            observer: nil, scheduler: scheduler, random: random, rules: rules, keeperPeriod: keeperPeriod,
            backgroundIdleTimeout: backgroundIdleTimeout, attempts: attempts, factory: factory, logger: logger)
    }

    /// Makes a manager whose connections `observer` hears.
    package init(
        observer: (any ConnectionObserver)?, scheduler: any Scheduler = SystemScheduler.shared,
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) },
        rules: [any KeeperRule] = ConnectionManager.standardRules, keeperPeriod: Duration = .seconds(5),
        backgroundIdleTimeout: Duration = .seconds(30), attempts: AttemptLimits = AttemptLimits(),
        factory: (any ConnectionFactory)? = nil, logger: Logger = Logger(label: "linkspan")
    ) {
        self.scheduler = scheduler
        self.logger = logger
        self.rules = rules
        self.keeperPeriod = keeperPeriod
        self.backgroundIdleTimeout = backgroundIdleTimeout
        self.pool = SharedPool(attempts)
        let environment = ConnectionEnvironment(
            scheduler: scheduler, random: random, logger: logger, observer: observer, attempts: self.pool)
        self.factory = factory ?? PooledConnectionFactory(environment: environment)
    }

    /// The keeper's chain unless told otherwise: reconnect, disconnect, release, suspend, resume.
    public static let standardRules: [any KeeperRule] = [
        ReconnectRule(), DisconnectRule(), ReleaseRule(), SuspendRule(), ResumeRule(),
    ]

    /// Gets the connection for a configuration's URL and identity, making and connecting it when there is none.
    ///
    /// Another credential source gets another connection. To connect without credentials where there is a connection
    /// with credentials is most likely a mistake, and is logged.
    ///
    /// - Throws: ``LinkspanError`` with code `conflictingOptions` when there is one with other options; the message names
    ///   them. The same when its ``DeliveryStore`` serves the account's connection to another endpoint.
    public func connect(_ configuration: ConnectionConfiguration) throws(LinkspanError) -> ConnectionHandler {
        let (handler, mustConnect) = try self.hold(configuration)
        if mustConnect { try self.open(handler) }
        return handler
    }

    /// Gets the connection for a configuration's URL and identity, and tells whether it has to be opened.
    package func hold(
        _ configuration: ConnectionConfiguration
    ) throws(LinkspanError) -> (handler: ConnectionHandler, mustConnect: Bool) {
        let (connection, mustConnect) = try self.occupy(configuration)
        // The handler keeps the manager, so that a connection that is held is also looked after.
        return (ConnectionHandler(connection: connection) { self.vacate(connection) }, mustConnect)
    }

    /// Connects a connection that is held, and looks after it from now on.
    package func open(_ handler: ConnectionHandler) throws(LinkspanError) {
        do throws(LinkspanError) {
            try handler.connect()
        } catch  where error.code == .wrongState {
            // The keeper or another holder was faster.
        }
        self.keep()
    }

    private func occupy(
        _ configuration: ConnectionConfiguration
    ) throws(LinkspanError) -> (connection: any ManagedConnection, mustConnect: Bool) {
        let (key, described) = (ConnectionPool.Key(configuration), configuration.described)
        if key.identity.isAnonymous, self.pool.withLock({ $0.hasAuthenticated(key.url) }) {
            self.logger.notice(
                "Connecting without credentials where there is a connection with credentials",
                metadata: ["url": "\(key.url.redacted)"])
        }
        while true {
            if let former = try self.pool.withLock({ pool throws(LinkspanError) in try pool.occupy(key, described) }) {
                let state = former.connection.state
                guard state == .released else {
                    return (former.connection, former.holders == 0 && state == .disconnected)
                }
                // It has ended without leaving the pool: by its own release, or because it is a third party's.
                _ = self.pool.withLock { $0.discard(former.connection) }
            }
            // Made outside the lock, because a factory is foreign code. Of two that are made at a time one is let go
            // unused.
            let new = self.factory.makeConnection(configuration)
            let isAdded = try self.pool.withLock { pool throws(LinkspanError) in
                try pool.add(new, key, configuration.options, described)
            }
            if isAdded { return (new, true) }
        }
    }

    /// The connections in the pool, with how many hold each.
    public var statistics: [ConnectionStatistics] {
        self.pool.withLock { $0.all }.map { entry in
            ConnectionStatistics(
                url: entry.connection.url, state: entry.connection.state, holders: entry.holders,
                waitingCommands: entry.connection.status.waitingCommands)
        }.sorted { $0.url.text < $1.url.text }
    }

    /// Retires and releases every connection, held or not, and waits until the peers have been told.
    ///
    /// For the end of a process or a test.
    ///
    /// - Parameter limit: how long to wait.
    public func shutdown(within limit: Duration = .seconds(5)) async {
        await Self.settle(self.releaseAll(), within: limit)
    }

    deinit { _ = self.releaseAll() }

    private func releaseAll() -> [any ManagedConnection] {
        let (entries, leavers) = self.pool.withLock { $0.removeAll() }
        for entry in entries {
            entry.connection.retire()
            // Refused only when it has been released already.
            try? entry.connection.release()
        }
        return entries.map(\.connection) + leavers.map(\.connection)
    }

    /// Waits until the links of connections have closed, of all at the same time.
    static func settle(_ connections: [any ManagedConnection], within limit: Duration) async {
        await withDiscardingTaskGroup { group in
            for connection in connections { group.addTask { await connection.settle(within: limit) } }
        }
    }

    private func vacate(_ connection: any ManagedConnection) {
        let now = self.now
        self.pool.withLock { $0.vacate(connection, now: now) }
        self.look(for: .look)
        let idleTimeout = self.pool.withLock { $0.entry(of: connection)?.idleTimeout }
        guard let idleTimeout else { return }
        self.scanLater(after: idleTimeout)
    }

    var now: ContinuousClock.Instant { self.scheduler.now }

    // MARK: The keeper

    /// Begins to look at the pool every now and then, as long as there is something in it.
    private func keep() {
        if self.pool.withLock({ $0.beginKeeping() }) { self.scanPeriodically() }
    }

    private func scanPeriodically() {
        _ = self.scheduler.schedule(at: self.scheduler.now + self.keeperPeriod) { [weak self] in
            guard let self else { return }
            self.look(for: .look)
            if !self.pool.withLock({ $0.endKeepingIfEmpty() }) { self.scanPeriodically() }
        }
    }

    private func scanLater(after delay: Duration) {
        _ = self.scheduler.schedule(at: self.scheduler.now + delay) { [weak self] in self?.look(for: .look) }
    }

    /// Lets the chain look at every connection, now or, while another thread does, right after that.
    func look(for occasion: KeeperOccasion) {
        if self.pool.withLock({ $0.surroundings.add(occasion) }) { self.look() }
    }

    func look() {
        while let occasion = self.pool.withLock({ $0.surroundings.next() }) {
            switch occasion {
            case .look: self.scan(nil)
            case .signal(let signal): self.scan(signal)
            }
        }
    }

    /// Lets the chain look at every connection, until it finds nothing more to do.
    ///
    /// - Parameter signal: what was heard; it is told to the rules once.
    private func scan(_ signal: KeeperSignal?) {
        var signal = signal
        var hasMore = true
        _ = self.pool.withLock { [now = self.now] in $0.forgetLeavers(now: now) }
        while hasMore {
            hasMore = false
            let now = self.now
            let isInBackground = self.pool.withLock { $0.surroundings.isInBackground }
            for entry in self.pool.withLock({ $0.all }) {
                let before = entry.connection.state
                var kept = self.kept(entry, now: now)
                kept.signal = signal
                kept.isInBackground = isInBackground
                guard let rule = self.rules.first(where: { $0.canExecute(kept) }) else { continue }
                rule.execute(kept)
                // A rule that changed the state may have made work for the next one.
                if entry.connection.state != before, entry.connection.state != .released { hasMore = true }
            }
            signal = nil
        }
    }

    private func kept(_ entry: ConnectionPool.Entry, now: ContinuousClock.Instant) -> KeptConnection {
        KeptConnection(
            connection: entry.connection, isOccupied: entry.holders > 0,
            idleFor: entry.idleSince.map { $0.duration(to: now) } ?? .zero, idleTimeout: entry.idleTimeout,
            leavePool: { [weak self] in self?.withdraw(entry.connection) ?? false })
    }
}

extension ConnectionManager {
    private func withdraw(_ connection: any ManagedConnection) -> Bool {
        let now = self.now
        return self.pool.withLock { $0.withdraw(connection, now: now) } != nil
    }
}

/// One pooled connection, for people.
public struct ConnectionStatistics: Sendable, Hashable {
    /// The endpoint.
    public var url: ConnectionURL
    /// The state.
    public var state: ConnectionState
    /// How many handlers hold it.
    public var holders: Int
    /// Commands that wait.
    public var waitingCommands: Int
}
