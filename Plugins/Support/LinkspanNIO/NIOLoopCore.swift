#if NIO
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import NIOCore

/// The state of the loop's thread alone: SwiftNIO's loop, configurations for TLS, the open streams.
///
/// Everything that SwiftNIO calls goes through ``enter(_:)``, at whose end the jobs and writes that it caused are done.
final class NIOLoopCore {
    /// Turns of work in a row without a look at the sockets.
    private static let turnLimit = 8
    /// The most flushes in a row; each may let handlers write more, and others have their turn in between.
    private static let flushPasses = 4
    /// The most configurations for TLS that are kept; each has the authorities in memory, a megabyte.
    private static let keptContexts = 8

    let loop: NIOLoop
    let eventLoop: any NIOCore.EventLoop
    /// Whether the loop is shutting down; no new connection is opened then.
    private(set) var isStopping = false
    private var streams: [ObjectIdentifier: NIOStream] = [:]
    private var listeners: [ObjectIdentifier: ListeningChannel] = [:]
    /// The configurations for TLS, the one that was used last at the end.
    private var contexts: [(policy: TLSPolicy, context: TLSContext)] = []
    private var work = LoopMailbox.Work()
    /// The number of SwiftNIO's calls that are under way; their last one does the jobs.
    private var depth = 0
    /// The one timer of SwiftNIO's, for the earliest of our own.
    private var alarm: (due: Moment, task: Scheduled<Void>)?
    /// The streams that have written in this turn.
    private var unflushed: [NIOStream] = []
    /// Those that are being flushed; empty but for its memory at other times.
    private var flushing: [NIOStream] = []

    init(loop: NIOLoop, eventLoop: any NIOCore.EventLoop) {
        self.loop = loop
        self.eventLoop = eventLoop
    }

    /// Runs `body` for an event of SwiftNIO, then what it has caused.
    func enter(_ body: () -> Void = {}) {
        // A turn of an event loop on a thread that is not the loop's own begins here.
        guard self.loop.isCurrent else { return self.loop.asCurrent { self.enter(body) } }
        self.depth += 1
        body()
        if self.depth == 1, !self.isStopping { self.turn() }
        self.depth -= 1
    }

    private func turn() {
        var turns = 0
        while true {
            self.flush()
            let isUsed = !self.streams.isEmpty || !self.listeners.isEmpty
            switch self.loop.thread.mailbox.withLock({ $0.take(into: &self.work, isUsed: isUsed) }) {
            case .stop, .retire: return self.stop()
            case .work:
                self.performWork()
                turns += 1
                guard turns < Self.turnLimit else { return self.turnLater() }
            case .sleep(let until, let now):
                guard self.unflushed.isEmpty else { return self.turnLater() }
                return self.arm(until, now: now)
            }
        }
    }

    /// Schedules the next turn behind SwiftNIO's look at the sockets.
    private func turnLater() {
        self.eventLoop.assumeIsolated().execute { self.enter() }
    }

    private func performWork() {
        for job in self.work.jobs { job() }
        // Taken one by one, because each may cancel the next; no more than there were, because each may add another.
        if let (now, count) = self.work.timers {
            for _ in 0..<count {
                guard let job = self.loop.thread.mailbox.withLock({ $0.takeTimer(now) }) else { break }
                job()
            }
        }
        self.work.removeAll()
    }

    /// Sets SwiftNIO to wake up at a time, unless it is to do so already, or earlier.
    private func arm(_ due: Moment?, now: Moment?) {
        guard let due, let now else { return }
        if let alarm = self.alarm {
            guard due < alarm.due else { return }
            alarm.task.cancel()
        }
        // Rounded up: a wake-up before the time would find nothing to do and wait for the next.
        let (seconds, attoseconds) = now.duration(to: due).components
        let delay = TimeAmount.nanoseconds(max(0, seconds * 1_000_000_000 + attoseconds / 1_000_000_000 + 1))
        let task = self.eventLoop.assumeIsolated().scheduleTask(in: delay) {
            self.alarm = nil
            self.enter()
        }
        self.alarm = (due, task)
    }

    /// Ends every stream, and then SwiftNIO's loop, which closes what is left, as soon as no other thread is waking it.
    private func stop() {
        self.isStopping = true
        self.alarm?.task.cancel()
        self.alarm = nil
        let error = ByteStreamError(.loopStopped, "the loop has been shut down")
        for stream in Array(self.streams.values) { stream.abort(error) }
        self.unflushed = []
        self.loop.setWake(nil)
    }

    // MARK: Streams

    func connect(_ request: UpgradeRequest, _ handler: any ByteStreamHandler) -> NIOStream {
        let stream = NIOStream(request, handler: handler, core: self)
        self.streams[ObjectIdentifier(stream)] = stream
        stream.start()
        return stream
    }

    /// Makes a stream of a connection that has come in; false when nobody wants it.
    func adopt(
        _ channel: any Channel, lowWaterMark: Int, accept: (any ByteStream) -> (any ByteStreamHandler)?
    ) -> Bool {
        guard !self.isStopping else { return false }
        let stream = NIOStream(
            acceptedFrom: channel.remoteAddress?.ipAddress, lowWaterMark: lowWaterMark, core: self)
        guard let handler = accept(stream), stream.machine.isOpen else { return false }
        self.streams[ObjectIdentifier(stream)] = stream
        stream.begin(channel, handler: handler)
        return true
    }

    func remove(_ stream: NIOStream) { self.streams.removeValue(forKey: ObjectIdentifier(stream)) }

    func add(_ listener: ListeningChannel) { self.listeners[ObjectIdentifier(listener)] = listener }

    func remove(_ listener: ListeningChannel) { self.listeners.removeValue(forKey: ObjectIdentifier(listener)) }

    func flushLater(_ stream: NIOStream) { self.unflushed.append(stream) }

    /// Sends what the streams have written since the last time.
    private func flush() {
        var passes = 0
        while !self.unflushed.isEmpty, passes < Self.flushPasses {
            swap(&self.unflushed, &self.flushing)
            for stream in self.flushing { stream.flush() }
            self.flushing.removeAll(keepingCapacity: true)
            passes += 1
        }
    }

    /// The configuration for a policy, made when it is first needed.
    func context(for policy: TLSPolicy) throws(ByteStreamError) -> TLSContext {
        let context: TLSContext
        if let index = self.contexts.firstIndex(where: { $0.policy == policy }) {
            context = self.contexts.remove(at: index).context
        } else {
            context = try TLSContext(policy)
        }
        self.contexts.append((policy, context))
        if self.contexts.count > Self.keptContexts { self.contexts.removeFirst() }
        return context
    }

    /// The number of configurations that are kept, for tests.
    var contextCount: Int { self.contexts.count }
}
#endif
