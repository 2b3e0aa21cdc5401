internal import CLibwebsockets
internal import LinkspanRuntime

/// What belongs to the loop's thread alone: the library's context, its vhosts, the open streams.
final class LoopCore {
    /// The library's own limit for a stage of an attempt, in seconds; beyond any deadline of ours.
    private static let libraryTimeout: UInt32 = 120

    /// Turns of work in a row without a look at the sockets.
    private static let turnLimit = 8

    let loop: EventLoop
    let context: OpaquePointer
    let raw: UnsafeMutablePointer<clws_loop>
    private var hosts: [HostKey: Host] = [:]
    private var streams: [ObjectIdentifier: LoopStream] = [:]
    private var listeners: [ObjectIdentifier: ListeningSocket] = [:]
    /// Where sockets listen, made when the first one does.
    private(set) lazy var listeningHost = clws_listen_vhost_create(self.raw, listenCallback)
    private var touched: [LoopStream] = []
    private var work = EventLoop.Mailbox.Work()
    private var armed: ContinuousClock.Instant?

    private struct HostKey: Hashable {
        let tls: TLSOptions?
        let proxy: ProxyOptions?
    }

    private struct Host {
        let pointer: OpaquePointer
        let tls: OpaquePointer?
    }

    /// Makes the context; nil when the library cannot.
    init?(loop: EventLoop) {
        LibraryLog.prepare()
        guard let raw = clws_loop_create(libraryCallback, Self.libraryTimeout) else { return nil }
        self.loop = loop
        self.raw = raw
        self.context = raw.pointee.context
    }

    /// Returns when the loop is to stop, or has been of no use for long enough.
    func run(_ mailbox: borrowing Lock<EventLoop.Mailbox>) {
        var turns = 0
        while true {
            let isUsed = !self.streams.isEmpty || !self.listeners.isEmpty
            switch mailbox.withLock({ $0.take(into: &self.work, isUsed: isUsed) }) {
            case .stop, .retire: return
            case .work:
                self.performWork()
                turns += 1
                guard turns == Self.turnLimit else { continue }
                lws_service(self.context, -1)
            case .sleep(let until, let now):
                self.arm(until, now: now)
                lws_service(self.context, 0)
            }
            turns = 0
            self.endReadTurn()
        }
    }

    /// Ends every stream and destroys the context, which ends every connection.
    func stop() {
        let error = ByteStreamError(.loopStopped, "the loop has been shut down")
        for stream in Array(self.streams.values) { stream.abort(error) }
        clws_loop_destroy(self.raw)
        for host in self.hosts.values { SSL_CTX_free(host.tls) }
    }

    func open(_ stream: ByteStream, _ request: UpgradeRequest, _ handler: any ByteStreamHandler) {
        let half = LoopStream(stream: stream, request: request, handler: handler, core: self)
        self.streams[ObjectIdentifier(stream)] = half
        stream.half.value = half
        half.start()
    }

    func listen(_ request: ListeningSocket.Request, _ accept: @escaping Listener.Acceptor) -> Result<
        Listener, ByteStreamError
    > {
        Result { () throws(ByteStreamError) in try ListeningSocket.open(request, on: self, accept: accept) }
    }

    func add(_ listener: ListeningSocket) { self.listeners[ObjectIdentifier(listener)] = listener }

    func remove(_ listener: ListeningSocket) { self.listeners.removeValue(forKey: ObjectIdentifier(listener)) }

    /// Makes a stream of a connection that has come in, if somebody wants it.
    func adopt(_ descriptor: CInt, lowWaterMark: Int, accept: Listener.Acceptor) {
        guard let host = try? self.host(tls: nil, proxy: nil) else { return clws_discard(descriptor) }
        let stream = ByteStream(loop: self.loop, lowWaterMark: lowWaterMark)
        guard let handler = accept(stream) else {
            stream.end()
            return clws_discard(descriptor)
        }
        let half = LoopStream(accepted: stream, handler: handler, core: self)
        self.streams[ObjectIdentifier(stream)] = half
        stream.half.value = half
        half.begin(descriptor, on: host)
    }

    func remove(_ stream: ByteStream) {
        self.streams.removeValue(forKey: ObjectIdentifier(stream))
    }

    /// Remembers a stream that was given bytes in this turn.
    func touch(_ stream: LoopStream) { self.touched.append(stream) }

    private func performWork() {
        for job in self.work.jobs { self.loop.run(job) }
        for timer in self.work.timers { timer.take()?() }
        for writer in self.work.writers { writer.half.value?.requestWritable() }
        self.work.removeAll()
    }

    private func endReadTurn() {
        guard !self.touched.isEmpty else { return }
        for stream in self.touched { stream.endReadTurn() }
        self.touched.removeAll(keepingCapacity: true)
    }

    /// Has the library wake up at a time, unless it is to do so already.
    private func arm(_ due: ContinuousClock.Instant?, now: ContinuousClock.Instant?) {
        guard let due, let now else { return }
        if let armed = self.armed, armed == due, armed > now { return }
        self.armed = due
        // Rounded up: a wake-up before the time would find nothing to do and wait for the next.
        let (seconds, attoseconds) = now.duration(to: due).components
        clws_loop_wake_after(self.raw, max(1, seconds * 1_000_000 + attoseconds / 1_000_000_000_000 + 1))
    }
}

extension LoopCore {
    /// The vhost for a request: one for all plain streams, one for each TLS configuration, and again for each
    /// proxy, made when first needed.
    func host(for request: UpgradeRequest) throws(ByteStreamError) -> OpaquePointer {
        try self.host(tls: request.isSecure ? request.tls : nil, proxy: request.proxy)
    }

    private func host(tls: TLSOptions?, proxy: ProxyOptions?) throws(ByteStreamError) -> OpaquePointer {
        let key = HostKey(tls: tls, proxy: proxy)
        if let host = self.hosts[key] { return host.pointer }
        let tls = try key.tls.map { options throws(ByteStreamError) in try TLSContext.make(options) }
        guard let pointer = clws_vhost_create(self.raw, tls) else {
            SSL_CTX_free(tls)
            throw ByteStreamError(.unavailable, "the library could not make a vhost")
        }
        self.hosts[key] = Host(pointer: pointer, tls: tls)
        return pointer
    }
}
