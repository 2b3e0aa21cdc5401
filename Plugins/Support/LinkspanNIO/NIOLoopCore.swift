#if NIO
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import NIOCore

/// The state of the loop's thread alone: SwiftNIO's loop, configurations for TLS, streams and listeners.
///
/// Everything that SwiftNIO calls goes through ``enter(_:)``, at whose end the jobs and writes that it caused are done.
final class NIOLoopCore {
    /// Turns of work in a row without a look at the sockets.
    private static let turnLimit = 8
    /// The most configurations for TLS that are kept; each has the authorities in memory, a megabyte.
    private static let keptContexts = 8

    let members: LoopMembers
    let kind: EventLoopKind
    let eventLoop: any NIOCore.EventLoop
    /// The configurations for TLS, the one that was used last at the end.
    private var contexts: [(policy: TLSPolicy, context: TLSContext)] = []
    /// The number of SwiftNIO's calls that are under way; their last one does the jobs.
    private var depth = 0
    /// The one timer of SwiftNIO's, for the earliest of our own.
    private var alarm: (due: Moment, task: Scheduled<Void>)?

    init(_ members: LoopMembers, kind: EventLoopKind, eventLoop: any NIOCore.EventLoop) {
        self.members = members
        self.kind = kind
        self.eventLoop = eventLoop
    }

    var identity: LoopIdentity { self.members.loop.thread.identity }

    /// Runs `body` for an event of SwiftNIO, then what it has caused.
    func enter(_ body: () -> Void = {}) {
        // A turn of an event loop on a thread that is not the loop's own begins here.
        guard self.identity.isCurrent else { return self.identity.asCurrent { self.enter(body) } }
        self.depth += 1
        body()
        if self.depth == 1, !self.members.isStopping { self.turn() }
        self.depth -= 1
    }

    private func turn() {
        let thread = self.members.loop.thread
        var turns = 0
        while true {
            self.members.flush()
            switch self.members.take(from: thread.mailbox) {
            case .stop, .retire: return self.stop()
            case .work:
                _ = self.members.performWork(thread.mailbox)
                turns += 1
                guard turns < Self.turnLimit else { return self.turnLater() }
            case .sleep(let until, let now):
                guard !self.members.isFlushDue else { return self.turnLater() }
                return self.arm(until, now: now)
            }
        }
    }

    /// Schedules the next turn behind SwiftNIO's look at the sockets.
    private func turnLater() {
        self.eventLoop.assumeIsolated().execute { self.enter() }
    }

    /// Sets SwiftNIO to wake up at a time, unless it is to do so already, or earlier.
    private func arm(_ due: Moment?, now: Moment?) {
        guard let due, let now else { return }
        if let alarm = self.alarm {
            guard due < alarm.due else { return }
            alarm.task.cancel()
        }
        let delay = TimeAmount.nanoseconds(max(0, now.duration(to: due).nanoseconds))
        let task = self.eventLoop.assumeIsolated().scheduleTask(in: delay) {
            self.alarm = nil
            self.enter()
        }
        self.alarm = (due, task)
    }

    /// Ends every stream, and then SwiftNIO's loop, which closes what is left, as soon as no other thread is waking it.
    private func stop() {
        self.alarm?.task.cancel()
        self.alarm = nil
        self.members.stop()
        self.members.loop.setWake(nil)
    }

    /// The configuration for the policy of a request, made when it is first needed; one with a listener has its own.
    func context(for request: StreamRequest) throws(ByteStreamError) -> TLSContext {
        guard request.onHandshake == nil else { return try TLSContext(request) }
        let kept = self.contexts.firstIndex { $0.policy == request.tls }.map { self.contexts.remove(at: $0).context }
        let context = if let kept { kept } else { try TLSContext(request) }
        self.contexts.append((request.tls, context))
        if self.contexts.count > Self.keptContexts { self.contexts.removeFirst() }
        return context
    }

    /// The number of configurations that are kept, for tests.
    var contextCount: Int { self.contexts.count }
}
#endif
