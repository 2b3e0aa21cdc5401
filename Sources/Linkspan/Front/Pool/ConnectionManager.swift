public import LinkspanRuntime
public import Logging

/// The front door: hands out connections, one per URL and identity, and keeps them.
///
/// The identity is the credential source with other settings that identify the client, such as a client certificate:
/// callers share a connection only when they share the value of the source. "No credentials" is an identity of its own.
///
/// Apps use ``shared``; servers and tests make their own.
public final class ConnectionManager: Sendable {
    /// The manager of the process.
    public static let shared = ConnectionManager()

    let factory: any ConnectionFactory
    let options: Options
    let pool: SharedPool

    /// Makes a manager.
    public convenience init(options: Options = Options()) { self.init(options: options, observer: nil) }

    /// Makes a manager whose connections `observer` hears.
    package init(options: Options = Options(), observer: (any ConnectionObserver)?) {
        self.options = options
        self.pool = SharedPool(options.attempts)
        let environment = ConnectionEnvironment(
            scheduler: options.scheduler, random: options.random, logger: options.logger, observer: observer,
            attempts: self.pool)
        self.factory = options.factory ?? PooledConnectionFactory(environment: environment)
    }

    /// Settings of a manager.
    ///
    /// What is different for each connection is in ``ConnectionOptions``.
    public struct Options: Sendable {
        /// The clock.
        public var scheduler: any Scheduler = SystemScheduler.shared
        /// Random numbers from 0 up to 1, for jitter.
        package var random: @Sendable () -> Double = { .random(in: 0..<1) }
        /// The keeper's rules, of which the first answer counts; see ``KeeperRule``.
        ///
        /// By default they connect what is held, release what has been idle for its timeout, suspend connections when the
        /// network path is lost or the app is in the background, and resume them afterwards.
        public var rules: [any KeeperRule] = .standard
        /// When connections save data (default ``DataSaving/constrained``).
        ///
        /// Without a source that reports the network path, as a service `network` does, they never do.
        public var dataSaving = DataSaving.constrained
        /// The time connections stay up in the background (default 30 s).
        public var backgroundIdleTimeout = Duration.seconds(30)
        /// Limits for attempts to connect, shared by all connections.
        package var attempts = AttemptLimits()
        /// Makes the connections (default nil: the manager's own factory).
        var factory: (any ConnectionFactory)?
        /// Gets state changes at level debug, and probable mistakes at level notice.
        public var logger = Logger(label: "linkspan")

        /// Makes the default options, changed by `configure`.
        public init(_ configure: (inout Options) -> Void = { _ in }) { configure(&self) }
    }

    /// Returns the connection for a configuration's URL and identity; makes and connects it when there is none.
    ///
    /// Another credential source gets another connection. To connect without credentials where there is a connection
    /// with credentials is most likely a mistake, and is logged.
    ///
    /// - Throws: ``LinkspanError`` with code `conflictingOptions` when there is one with other options; the message
    ///   names them. The same when its ``DeliveryStore`` serves the account's connection to another endpoint.
    public func connect(_ configuration: ConnectionConfiguration) throws(LinkspanError) -> ConnectionHandler {
        let (handler, mustConnect) = try self.hold(configuration)
        if mustConnect { try self.open(handler) }
        return handler
    }

    /// Returns the same connection as ``connect(_:)`` without opening it: for listeners that are to be there first.
    ///
    /// ``Connection/connect()`` opens it, if no other holder has.
    ///
    /// - Throws: what ``connect(_:)`` throws.
    public func prepare(_ configuration: ConnectionConfiguration) throws(LinkspanError) -> ConnectionHandler {
        let handler = try self.hold(configuration).handler
        self.keep()
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
        self.pool.withLock { $0.open(handler.connection) }
        do throws(LinkspanError) {
            try handler.connect()
        } catch  where error.code == .wrongState {
            // The keeper or another holder was faster.
        }
        self.keep()
    }

    private func occupy(
        _ configuration: ConnectionConfiguration
    ) throws(LinkspanError) -> (connection: PooledConnection, mustConnect: Bool) {
        let (key, described) = (ConnectionPool.Key(configuration), configuration.described)
        if key.identity.isAnonymous, self.pool.withLock({ $0.hasAuthenticated(key.url) }) {
            self.options.logger.notice(
                "Connecting without credentials although another connection to the same URL has credentials",
                metadata: ["url": "\(key.url)"])
        }
        while true {
            if let former = try self.pool.withLock({ pool throws(LinkspanError) in try pool.occupy(key, described) }) {
                let state = former.connection.state
                guard state == .released else {
                    let isWaiting = former.isUnopened && state == .created
                    return (former.connection, isWaiting || former.holders == 0 && state == .disconnected)
                }
                // It has ended without leaving the pool, by its own release.
                _ = self.pool.withLock { $0.discard(former.connection) }
            }
            // Made outside the lock, because it asks the transport, which is foreign code. Of two that are made at a time
            // one is let go unused.
            let login = configuration.credentials.login
            let new = self.factory.makeConnection(configuration)
            let isAdded = try self.pool.withLock { pool throws(LinkspanError) in
                try pool.add(new, key, configuration.options, described)
            }
            guard isAdded else { continue }
            if self.pool.withLock({ $0.surroundings.savesData }) { self.followSaving(new) }
            if configuration.credentials.login == login { return (new, true) }
            // The source was logged out meanwhile, and did not find this one, which gets no credentials any more.
            if self.pool.withLock({ $0.discard(new) }) != nil { new.end(Self.loggedOut) }
        }
    }

    /// The connections in the pool, each with the number of its holders.
    public var statistics: [(status: ConnectionStatus, holders: Int)] {
        self.pool.withLock { $0.all }.map { ($0.connection.status, $0.holders) }
            .sorted { $0.status.url.text < $1.status.url.text }
    }

    /// Ends every connection, held or not, when it has sent the events that wait for room on its link, and waits until
    /// the peers have received the disconnect.
    ///
    /// For the end of a process or a test. Events that wait for a link are given up; see
    /// ``ConnectionHandler/drain(within:)``.
    ///
    /// - Parameter limit: how long to wait; half of it for waiting events.
    public func shutdown(within limit: Duration = .seconds(5)) async {
        let end = self.now + limit
        await self.sendWaiting(until: self.now + limit / 2)
        await Self.settle(self.releaseAll(), within: max(.zero, self.now.duration(to: end)))
    }

    /// Waits until open connections have sent the events that wait for room.
    private func sendWaiting(until deadline: Moment) async {
        await withDiscardingTaskGroup { group in
            for connection in self.pool.withLock({ $0.all }).map(\.connection) {
                let status = connection.status
                guard status.state == .connected, status.waitingCommands > 0 else { continue }
                group.addTask {
                    let events = await connection.commands(until: deadline)?.filter { $0.kind == .send } ?? []
                    let left = max(.zero, connection.scheduler.moment.duration(to: deadline))
                    await connection.awaitOutcomes(of: Set(events.map(\.id)), within: left)
                }
            }
        }
    }

    deinit { _ = self.releaseAll() }

    private func releaseAll() -> [PooledConnection] {
        let (entries, leavers) = self.pool.withLock { $0.removeAll() }
        for entry in entries {
            entry.connection.end(nil)
        }
        return entries.map(\.connection) + leavers.map(\.connection)
    }

    /// Waits until the links of connections have closed, of all at the same time.
    static func settle(_ connections: [PooledConnection], within limit: Duration) async {
        await withDiscardingTaskGroup { group in
            for connection in connections { group.addTask { await connection.settle(within: limit) } }
        }
    }

    private func vacate(_ connection: PooledConnection) {
        let now = self.now
        self.pool.withLock { $0.vacate(connection, now: now) }
        self.look(for: .visit(ObjectIdentifier(connection)))
        self.watch(connection)
    }

    var now: Moment { self.options.scheduler.moment }

    // MARK: The keeper

    /// Watches a connection if nobody holds it; again when its idle timeout has changed.
    func watch(_ connection: PooledConnection) {
        guard let end = self.pool.withLock({ $0.entry(of: connection)?.idleEnd }) else { return }
        let id = ObjectIdentifier(connection)
        let watch = IdleWatch(connection, until: end, by: self.options.scheduler) { [weak self] in
            self?.look(for: .visit(id))
        }
        _ = self.pool.withLock { $0.keep(watch, of: connection) }
    }

    /// Forgets a connection that has left the pool now as soon as nothing asks for it any more.
    func forgetLeaver() {
        _ = self.options.scheduler.schedule(at: self.now + ConnectionPool.memory) { [weak self] in
            guard let self else { return }
            _ = self.pool.withLock { [now = self.now] in $0.forgetLeavers(now: now) }
        }
    }

    /// Begins to ask the rules at intervals, if one of them wants that, as long as there is a connection.
    private func keep() {
        guard let period = self.options.rules.compactMap(\.period).min() else { return }
        if self.pool.withLock({ $0.beginKeeping() }) { self.scan(every: max(period, .milliseconds(1))) }
    }

    private func scan(every period: Duration) {
        _ = self.options.scheduler.schedule(at: self.now + period) { [weak self] in
            guard let self else { return }
            self.look(for: .look)
            if !self.pool.withLock({ $0.endKeepingIfEmpty() }) { self.scan(every: period) }
        }
    }

    /// Shows the chain every connection, now or, while another thread does, right after that.
    func look(for occasion: KeeperOccasion) {
        if self.pool.withLock({ $0.surroundings.add(occasion) }) { self.look() }
    }

    func look() {
        while let occasion = self.pool.withLock({ $0.surroundings.next() }) {
            switch occasion {
            case .look: self.scan(nil)
            case .visit(let connection): self.scan(nil, connection)
            case .signal(let signal): self.scan(signal)
            }
        }
    }

    /// Shows the chain every connection, or one, until it finds nothing more to do.
    ///
    /// - Parameters:
    ///   - signal: the signal; the rules get it once.
    ///   - connection: the only connection to look at; nil for all.
    private func scan(_ signal: KeeperSignal?, _ connection: ObjectIdentifier? = nil) {
        var signal = signal
        // What a rule has done may make work for the next one. Rules that undo what others do are stopped at some time.
        for _ in 0..<4 {
            var hasMore = false
            let now = self.now
            let isInBackground = self.pool.withLock { $0.surroundings.isInBackground }
            for entry in self.pool.withLock({ $0.entries(connection) }) {
                var kept = KeptConnection(
                    url: entry.connection.url, state: entry.connection.state, holders: entry.holders,
                    idleTime: entry.idleSince.map { $0.duration(to: now) } ?? .zero, idleTimeout: entry.idleTimeout)
                // A status is made of much, and only one that was never connected is asked for it.
                kept.isAttempting = kept.state == .created && entry.connection.status.progress != .idle
                kept.isUnopened = entry.isUnopened
                kept.signal = signal
                kept.isInBackground = isInBackground
                self.decide(kept, entry.connection)
                let state = entry.connection.state
                if state != kept.state, state != .released { hasMore = true }
            }
            signal = nil
            if !hasMore { return }
        }
    }

    private func decide(_ kept: KeptConnection, _ connection: PooledConnection) {
        var action: KeeperAction?
        for rule in self.options.rules where action == nil { action = rule.decide(kept) }
        switch action?.kind {
        case .keep, nil: ()
        // Refused only when someone else has just done it, or done something else.
        case .connect: try? connection.connect()
        case .disconnect: try? connection.disconnect()
        // Removed first: later holders get a new connection, and none gets one that is about to end.
        case .release:
            let entry = self.pool.withLock { [now = self.now] in $0.withdraw(connection, now: now) }
            guard entry != nil else { return }
            connection.end(nil)
            self.forgetLeaver()
        case .suspend(let error, let patience): connection.suspend(error, patience: patience)
        case .resume(let spread): connection.resume(within: spread)
        }
    }
}
