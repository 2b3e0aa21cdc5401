#if LWS
internal import CLibwebsockets
internal import LinkspanNetwork
internal import LinkspanRuntime

/// A context of libwebsockets, which opens connections, with its virtual hosts.
final class Library {
    /// The library's own limit for a stage of an attempt, in seconds; beyond any deadline of ours.
    private static let timeout: UInt32 = 120
    /// The most virtual hosts that are kept for later without being in use; each with TLS has the authorities in memory, a
    /// megabyte.
    private static let idleHosts = 8

    let executor: any ThreadedLoop
    let raw: UnsafeMutablePointer<clws_loop>
    /// The connections that the library has to itself: those that it opens, and what is left of those that ended.
    ///
    /// While there are none, nothing is asked of the library.
    var openerCount = 0
    /// The socket that the library is left with in place of one that is taken from it; nothing ever arrives there.
    var idleSocket: CInt { self.idleSockets[0] }
    private let idleSockets: [CInt]
    /// Turns off the library's habit of writing a log to standard error; once, as the level is one for the process.
    private static let silence: Void = lws_set_log_level(0, nil)
    /// Those of TLS policies, and the one of plain connections.
    private var hosts: [TLSPolicy?: VirtualHost] = [:]
    private var hostLookups: UInt64 = 0
    private var isEnding = false
    private var armed: Moment?

    init?(on executor: any ThreadedLoop, callback: @escaping clws_handler, poller: CInt) {
        Self.silence
        var idleSockets: [CInt] = [-1, -1]
        guard clws_decoy_open(&idleSockets) else { return nil }
        guard let raw = clws_loop_create(callback, Self.timeout, poller) else {
            for socket in idleSockets { clws_discard(socket) }
            return nil
        }
        self.executor = executor
        self.idleSockets = idleSockets
        self.raw = raw
    }

    /// Destroys the context, which ends every connection of the library.
    func end() {
        self.isEnding = true
        clws_loop_destroy(self.raw)
        for socket in self.idleSockets { clws_discard(socket) }
        for host in self.hosts.values { host.freeContext() }
    }

    /// Serves the library's connections, after a wait until `due` if there is nothing to do yet.
    ///
    /// - Returns: whether the poller, which the library looks at as well, has something.
    func serve(waitsUntil due: Moment?, now: Moment?, isWaiting: Bool) -> Bool {
        self.arm(due, now: now)
        lws_service(self.raw.pointee.context, isWaiting ? 0 : -1)
        defer { self.raw.pointee.has_ready = false }
        return self.raw.pointee.has_ready
    }

    /// Sets the library to wake up at a time, unless it is to do so already.
    private func arm(_ due: Moment?, now: Moment?) {
        guard let due, let now else { return }
        if let armed = self.armed, armed == due, armed > now { return }
        self.armed = due
        // Rounded up: a wake-up before the time would find nothing to do and wait for the next.
        clws_loop_wake_after(self.raw, max(0, now.duration(to: due).nanoseconds / 1_000) + 1)
    }
}

extension Library {
    /// The virtual host for a request: one for all plain streams, one for each TLS policy, made when first needed.
    func host(for request: StreamRequest) throws(ByteStreamError) -> VirtualHost {
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
        self.executor.executeLocally { self.evictHosts() }
        return host
    }

    /// Gives up the hosts that have been of no use for the longest.
    private func evictHosts() {
        // The context takes them all along at its end.
        guard !self.isEnding else { return }
        let idle = self.hosts.filter { $0.value.uses == 0 }
        guard idle.count > Self.idleHosts else { return }
        for (key, host) in idle.sorted(by: { $0.value.lastUse < $1.value.lastUse }).dropLast(Self.idleHosts) {
            self.hosts[key] = nil
            host.destroy()
        }
    }

    /// The number of hosts that are kept, for tests.
    var hostCount: Int { self.hosts.count }
}

/// The shared parts of connections with one TLS policy: a vhost of the library, and a context of OpenSSL's.
final class VirtualHost {
    let pointer: OpaquePointer
    /// Streams and connections that need it.
    var uses = 0
    /// The time of its last look-up, counted in look-ups.
    var lastUse: UInt64 = 0
    private let tls: OpaquePointer?

    /// Makes one for a policy; nil for plain connections.
    init(_ policy: TLSPolicy?, on loop: UnsafeMutablePointer<clws_loop>) throws(ByteStreamError) {
        let tls = try policy.map { policy throws(ByteStreamError) in try TLSContext.make(policy) }
        guard let pointer = clws_vhost_create(loop, tls) else {
            SSL_CTX_free(tls)
            throw ByteStreamError(.unavailable, "the library could not make a vhost")
        }
        self.pointer = pointer
        self.tls = tls
    }

    /// Gives it back while the library goes on.
    func destroy() {
        lws_vhost_destroy(self.pointer)
        self.freeContext()
    }

    /// Gives back what the library leaves to us; called once, at the end of either.
    func freeContext() { SSL_CTX_free(self.tls) }
}
#endif
