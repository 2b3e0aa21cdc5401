internal import LinkspanLifecycle
internal import LinkspanRuntime

/// Tells the service registry of one connection's messages and of its queue, if a service there listens.
struct MessageReporter {
    private let connection: UInt64
    private let services: ServiceRegistry
    private let scheduler: any Scheduler
    /// When the latest copy of each command without an outcome went out.
    private var departures: [Command.ID: ContinuousClock.Instant] = [:]
    private var queue = QueueDepth()
    private var depth = 0

    init(connection: UInt64, services: ServiceRegistry, scheduler: any Scheduler) {
        self.connection = connection
        self.services = services
        self.scheduler = scheduler
    }

    /// A command is about to be given to a link.
    mutating func leaving(_ command: Command) {
        guard command.kind != .send, self.services.hasAudience(for: .message) else { return }
        self.departures[command.id] = self.scheduler.now
    }

    func sent(_ command: Command) { self.emit(command, .sent) }

    func received(_ event: String, bytes: Int) {
        self.services.emit(MessageEvent(connection: self.connection, event: event, bytes: bytes, kind: .received))
    }

    mutating func finished(_ command: Command, _ outcome: Result<Payload, LinkspanError>) {
        let departure = self.departures.isEmpty ? nil : self.departures.removeValue(forKey: command.id)
        guard self.services.hasAudience(for: .message) else { return }
        switch outcome {
        case .success:
            guard command.kind != .send, let departure else { return }
            self.emit(command, .acknowledged(roundTrip: departure.duration(to: self.scheduler.now)))
        case .failure(let error) where error.code == .timedOut:
            let wasSent = error.certainty != .notSent
            self.emit(command, wasSent ? .timedOut(limit: command.timeout ?? .zero) : .expired)
        case .failure(let error):
            self.emit(command, .dropped(reason: error.code.rawValue))
        }
    }

    private func emit(_ command: Command, _ kind: MessageEvent.Kind) {
        self.services.emit(
            MessageEvent(connection: self.connection, event: command.event, bytes: command.byteCount, kind: kind))
    }
}

// MARK: - The queue

extension MessageReporter {
    /// The number of commands that wait has changed.
    mutating func queueChanged(depth: Int, limit: Int) {
        self.depth = depth
        guard self.services.hasAudience(for: .buffer) else { return }
        while let news = self.queue.changed(to: depth, limit: limit) { self.emit(depth, limit, news) }
    }

    /// The connection went up or down.
    mutating func changed(_ change: StateChange) {
        if change.to == .released { self.queue = QueueDepth() }
        guard change.to == .connected, self.services.hasAudience(for: .buffer), self.depth > 0 else { return }
        self.queue.beginFlush(self.depth, now: change.time)
    }

    private func emit(_ depth: Int, _ limit: Int, _ news: QueueDepth.News) {
        let kind: BufferEvent.Kind =
            switch news {
            case .level: .level
            case .highWater: .highWater
            case .lowWater: .lowWater
            case .flushed(let count, let since): .flushed(count: count, time: since.duration(to: self.scheduler.now))
            }
        self.services.emit(
            BufferEvent(connection: self.connection, queue: .outbound, depth: depth, limit: limit, kind: kind))
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
