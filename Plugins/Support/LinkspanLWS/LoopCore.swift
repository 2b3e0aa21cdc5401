#if LWS
internal import CLibwebsockets
internal import LinkspanNetwork
internal import LinkspanRuntime

/// The state of the loop's thread alone: the library's context, its vhosts, the open streams.
final class LoopCore {
    /// The library's own limit for a stage of an attempt, in seconds; beyond any deadline of ours.
    private static let libraryTimeout: UInt32 = 120

    /// Turns of work in a row without a look at the sockets, of which only the last may run timers.
    private static let turnLimit = 8

    let loop: EventLoop
    /// Watches what the loop serves itself: open streams and listening sockets.
    let poller: Poller
    let context: OpaquePointer
    let raw: UnsafeMutablePointer<clws_loop>
    /// Those of TLS policies, and the one of plain connections.
    private var hosts: [TLSPolicy?: VirtualHost] = [:]
    private var hostLookups: UInt64 = 0
    // Looked at in each turn, as are those below: nothing is called while they change.
    @exclusivity(unchecked) private var streams: [ObjectIdentifier: LoopStream] = [:]
    @exclusivity(unchecked) private var listeners: [ObjectIdentifier: ListeningSocket] = [:]
    /// The connections that the library has to itself: attempts, and what is left of those that ended.
    ///
    /// While there are none, nothing is asked of the library.
    var dialCount = 0
    /// The socket that the library is left with in place of one that is taken over; nothing ever arrives there.
    var decoy: CInt { self.decoys[0] }
    private let decoys: [CInt]
    /// The streams that have something to read which the poller does not tell of.
    @exclusivity(unchecked) private var unread: [LoopStream] = []
    /// The owners of sockets that were closed in this turn, of which the poller may yet tell.
    @exclusivity(unchecked) private var departed: [Watched] = []
    @exclusivity(unchecked) private var work = LoopMailbox.Work()
    /// Whether the loop is shutting down; no new connection is opened then.
    private(set) var isStopping = false
    private var armed: Moment?

    /// The most vhosts that are kept for later without being in use; each with TLS has the authorities in memory, a
    /// megabyte.
    private static let idleHosts = 8
    /// The most direct flushes at the end of one turn; each may let handlers write more.
    ///
    /// Bytes that handlers write after the last flush are sent once the socket is reported writable.
    private static let flushPasses = 4
    /// The streams that have written in this turn.
    @exclusivity(unchecked) private var unflushed: [LoopStream] = []
    /// Those that are being flushed; empty but for its memory at other times.
    @exclusivity(unchecked) private var flushing: [LoopStream] = []

    init?(loop: EventLoop) {
        LibraryLog.prepare(isWanted: loop.thread.identity.attachment is LibraryLog.Listener)
        guard let poller = Poller() else { return nil }
        var decoys: [CInt] = [-1, -1]
        guard clws_decoy_open(&decoys) else {
            poller.close()
            return nil
        }
        guard let raw = clws_loop_create(libraryCallback, Self.libraryTimeout, poller.descriptor) else {
            poller.close()
            for decoy in decoys { clws_discard(decoy) }
            return nil
        }
        self.loop = loop
        self.poller = poller
        self.decoys = decoys
        self.raw = raw
        self.context = raw.pointee.context
    }

    /// Returns when the loop is to stop, or has been of no use for long enough.
    func run(_ mailbox: borrowing Lock<LoopMailbox>) {
        var turns = 0
        while true {
            let isUsed = !self.streams.isEmpty || !self.listeners.isEmpty
            switch mailbox.withLock({ $0.take(into: &self.work, isUsed: isUsed) }) {
            case .stop, .retire: return
            case .work:
                let hasTimers = self.work.timers != nil
                self.performWork(mailbox)
                self.flush()
                turns += 1
                // Timers judge peers: what has arrived by now is read before others are taken, however long jobs take.
                guard hasTimers || turns == Self.turnLimit else { continue }
                self.look(waitsUntil: nil, now: nil, isWaiting: false)
            case .sleep(let until, let now):
                self.look(waitsUntil: until, now: now, isWaiting: self.unread.isEmpty)
            }
            turns = 0
            self.flush()
        }
    }

    /// Ends every stream and destroys the context, which ends every connection.
    func stop() {
        self.isStopping = true
        let error = ByteStreamError(.loopStopped, "the loop has been shut down")
        for stream in Array(self.streams.values) { stream.abort(error) }
        for listener in Array(self.listeners.values) { listener.close() }
        clws_loop_destroy(self.raw)
        self.poller.close()
        for decoy in self.decoys { clws_discard(decoy) }
        self.departed = []
        for host in self.hosts.values { host.freeContext() }
    }

    func connect(_ request: UpgradeRequest, _ handler: any ByteStreamHandler) -> LoopStream {
        let stream = LoopStream(request, handler: handler, core: self)
        self.streams[ObjectIdentifier(stream)] = stream
        stream.start()
        return stream
    }

    func add(_ listener: ListeningSocket) { self.listeners[ObjectIdentifier(listener)] = listener }

    func remove(_ listener: ListeningSocket) {
        if let listener = self.listeners.removeValue(forKey: ObjectIdentifier(listener)) {
            self.departed.append(listener)
        }
    }

    /// Makes a stream of a connection that has come in, if somebody wants it.
    func adopt(
        _ descriptor: CInt, lowWaterMark: Int, accept: (any ByteStream) -> (any ByteStreamHandler)?
    ) {
        let stream = LoopStream(
            acceptedFrom: Self.peerAddress(of: descriptor), lowWaterMark: lowWaterMark, core: self)
        guard let handler = accept(stream), stream.machine.isOpen else { return clws_discard(descriptor) }
        self.streams[ObjectIdentifier(stream)] = stream
        stream.begin(descriptor, handler: handler)
    }

    private static func peerAddress(of descriptor: CInt) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(CLWS_ADDRESS_SIZE)) { buffer in
            guard let start = buffer.baseAddress, clws_peer_address(descriptor, start) else { return nil }
            return String(cString: start)
        }
    }

    func remove(_ stream: LoopStream) {
        if let stream = self.streams.removeValue(forKey: ObjectIdentifier(stream)) { self.departed.append(stream) }
    }

    /// Keeps the owner of a socket that was closed in this turn, of which the poller may yet tell.
    func keepForTurn(_ owner: Watched) { self.departed.append(owner) }

    func readLater(_ stream: LoopStream) { self.unread.append(stream) }

    func flushLater(_ stream: LoopStream) { self.unflushed.append(stream) }

    private func performWork(_ mailbox: borrowing Lock<LoopMailbox>) {
        for job in self.work.jobs { job() }
        // Taken one by one, because each may cancel the next; no more than there were, because each may add another.
        if let (now, count) = self.work.timers {
            for _ in 0..<count {
                guard let job = mailbox.withLock({ $0.takeTimer(now) }) else { break }
                job()
            }
        }
        self.work.removeAll()
    }

    /// Looks for what is ready, after a wait if there is nothing yet, and does what it leads to.
    private func look(waitsUntil due: Moment?, now: Moment?, isWaiting: Bool) {
        if self.dialCount > 0 {
            // It looks at the poller as well while it waits.
            self.poller.noteLooks(self.dialCount)
            self.arm(due, now: now)
            lws_service(self.context, isWaiting ? 0 : -1)
            if self.raw.pointee.has_ready || !isWaiting { self.poller.wait(.zero) }
            self.raw.pointee.has_ready = false
        } else if isWaiting {
            self.poller.wait(due.flatMap { due in now.map { $0.duration(to: due) } })
        } else {
            self.poller.wait(.zero)
        }
        self.readUnread()
        self.departed.removeAll(keepingCapacity: true)
    }

    /// Reads once from each stream that has something; what is left waits for the next turn.
    private func readUnread() {
        guard !self.unread.isEmpty else { return }
        let unread = self.unread
        self.unread.removeAll(keepingCapacity: true)
        for stream in unread {
            stream.isReadDue = false
            stream.read()
        }
    }

    /// Sends what the streams have written since the last time.
    private func flush() {
        var passes = 0
        while !self.unflushed.isEmpty {
            swap(&self.unflushed, &self.flushing)
            passes += 1
            for stream in self.flushing { passes > Self.flushPasses ? stream.flushByChance() : stream.flush() }
            self.flushing.removeAll(keepingCapacity: true)
        }
    }

    /// Sets the library to wake up at a time, unless it is to do so already.
    private func arm(_ due: Moment?, now: Moment?) {
        guard let due, let now else { return }
        if let armed = self.armed, armed == due, armed > now { return }
        self.armed = due
        // Rounded up: a wake-up before the time would find nothing to do and wait for the next.
        let (seconds, attoseconds) = now.duration(to: due).components
        clws_loop_wake_after(self.raw, max(1, seconds * 1_000_000 + attoseconds / 1_000_000_000_000 + 1))
    }
}

extension LoopCore {
    /// The vhost for a request: one for all plain streams, one for each TLS configuration, made when first needed.
    func host(for request: UpgradeRequest) throws(ByteStreamError) -> VirtualHost {
        let key = request.isSecure ? request.tls : nil
        self.hostLookups += 1
        if let host = self.hosts[key] {
            host.lastUse = self.hostLookups
            return host
        }
        let host = try VirtualHost(key, on: self.raw)
        host.lastUse = self.hostLookups
        self.hosts[key] = host
        // As a job, because the library may be in the midst of an event of one of them.
        self.loop.executeLocally { self.evictHosts() }
        return host
    }

    /// Gives up the vhosts that have been of no use for the longest.
    private func evictHosts() {
        // The context takes them all along at its end.
        guard !self.isStopping else { return }
        let idle = self.hosts.filter { $0.value.uses == 0 }
        guard idle.count > Self.idleHosts else { return }
        for (key, host) in idle.sorted(by: { $0.value.lastUse < $1.value.lastUse }).dropLast(Self.idleHosts) {
            self.hosts[key] = nil
            host.destroy()
        }
    }

    /// The number of vhosts that are kept, for tests.
    var hostCount: Int { self.hosts.count }
}
#endif
