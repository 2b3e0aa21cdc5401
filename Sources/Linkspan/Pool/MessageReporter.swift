internal import LinkspanLifecycle
internal import LinkspanRuntime

/// Tells the service registry of messages and of what waits, if anybody there wants to know.
struct MessageReporter: Sendable {
    private let services: ServiceRegistry
    private let scheduler: any Scheduler
    /// When the latest copy of each command went out that has no outcome yet.
    private let departures = Lock<[Command.ID: ContinuousClock.Instant]>([:])
    private let depths = Lock<[UInt64: QueueDepth]>([:])

    init(services: ServiceRegistry, scheduler: any Scheduler) {
        self.services = services
        self.scheduler = scheduler
    }

    /// A command is about to be given to a link, which may bring its reply before it returns.
    func leaving(_ command: Command) {
        guard command.kind != .send, self.services.hasAudience(for: .message) else { return }
        self.departures.withLock { $0[command.id] = self.scheduler.now }
    }

    func sent(_ connection: PooledConnection, _ command: Command) { self.emit(connection, command, .sent) }

    func received(_ connection: PooledConnection, _ message: InboundMessage) {
        self.services.emit(
            MessageEvent(
                connection: connection.id, event: message.event, bytes: message.payload.byteCount, kind: .received))
    }

    func finished(
        _ connection: PooledConnection, _ command: Command, _ outcome: Result<Payload, LinkspanError>
    ) {
        // A send that left at once changes no depth.
        if command.kind != .send || self.depths.withLock({ !$0.isEmpty }) { self.queued(connection) }
        let departure = self.departures.withLock { $0.isEmpty ? nil : $0.removeValue(forKey: command.id) }
        guard self.services.hasAudience(for: .message) else { return }
        switch outcome {
        case .success:
            guard command.kind != .send, let departure else { return }
            self.emit(connection, command, .acknowledged(roundTrip: departure.duration(to: self.scheduler.now)))
        case .failure(let error) where error.code == .timedOut:
            let wasSent = error.certainty != .notSent
            self.emit(connection, command, wasSent ? .timedOut(limit: command.timeout ?? .zero) : .expired)
        case .failure(let error):
            self.emit(connection, command, .dropped(reason: error.code.rawValue))
        }
    }

    private func emit(_ connection: PooledConnection, _ command: Command, _ kind: MessageEvent.Kind) {
        self.services.emit(
            MessageEvent(connection: connection.id, event: command.event, bytes: command.byteCount, kind: kind))
    }
}

// MARK: - What waits

extension MessageReporter {
    /// Something has begun to wait, or waits no more.
    func queued(_ connection: PooledConnection) {
        guard self.services.hasAudience(for: .buffer) else { return }
        let depth = connection.waitingCommands
        let limit = connection.destination.options.buffer.commands
        let news = self.depths.withLock { depths in
            var queue = depths[connection.id] ?? QueueDepth()
            let news = queue.changed(to: depth, limit: limit)
            depths[connection.id] = queue == QueueDepth() ? nil : queue
            return news
        }
        if let news { self.emit(connection, depth, limit, news) }
    }

    /// The connection went up or down.
    func changed(_ connection: PooledConnection, _ change: StateChange) {
        if change.to == .released { self.depths.withLock { $0[connection.id] = nil } }
        guard change.to == .connected, self.services.hasAudience(for: .buffer) else { return }
        let depth = connection.waitingCommands
        guard depth > 0 else { return }
        self.depths.withLock { $0[connection.id, default: QueueDepth()].beginFlush(depth, now: change.time) }
    }

    private func emit(_ connection: PooledConnection, _ depth: Int, _ limit: Int, _ news: QueueDepth.News) {
        let kind: BufferEvent.Kind =
            switch news {
            case .level: .level
            case .highWater: .highWater
            case .lowWater: .lowWater
            case .flushed(let count, let since): .flushed(count: count, time: since.duration(to: self.scheduler.now))
            }
        self.services.emit(
            BufferEvent(connection: connection.id, queue: .outbound, depth: depth, limit: limit, kind: kind))
    }
}

/// When the depth of a queue is worth telling: each time it has doubled or halved, and near its limit.
struct QueueDepth: Sendable, Equatable {
    enum News: Sendable, Equatable {
        case level
        case highWater
        case lowWater
        case flushed(count: Int, since: ContinuousClock.Instant)
    }

    /// Below this depth a queue counts as empty: what is merely under way is not worth telling.
    private static let floor = 16

    private var level = 0
    private var isHigh = false
    private var flush: Flush?

    private struct Flush: Sendable, Equatable {
        var count: Int
        var since: ContinuousClock.Instant
    }

    mutating func beginFlush(_ depth: Int, now: ContinuousClock.Instant) {
        self.flush = Flush(count: depth, since: now)
    }

    mutating func changed(to depth: Int, limit: Int) -> News? {
        if !self.isHigh, depth * 5 >= limit * 4, limit > 1 {
            self.isHigh = true
            return .highWater
        }
        if self.isHigh, depth * 2 <= limit {
            self.isHigh = false
            return .lowWater
        }
        if let flush = self.flush, depth == 0 {
            (self.flush, self.level) = (nil, 0)
            return .flushed(count: flush.count, since: flush.since)
        }
        let level = depth < Self.floor ? 0 : Int.bitWidth - depth.leadingZeroBitCount
        guard level != self.level else { return nil }
        self.level = level
        return .level
    }
}
