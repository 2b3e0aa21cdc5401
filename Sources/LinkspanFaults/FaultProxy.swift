private import CLinkspanRuntime
public import Linkspan
internal import LinkspanRuntime

/// A TCP proxy on this machine that disturbs the connections through it, for tests of apps with real sockets.
///
/// It delays, slows down, corrupts, cuts and resets as a ``FaultProfile`` says. With the same seed the same bytes of the same
/// connection suffer the same.
///
/// ```swift
/// let proxy = try FaultProxy(to: "127.0.0.1", port: server.port, seed: 7) {
///     $0.delay = .milliseconds(20)
///     $0.loss = 0.01
/// }
/// let connection = try ConnectionBuilder("http://127.0.0.1:\(proxy.port)")
///     .transport(.socketIO).connect(by: manager)
/// try await connection.connected()
/// proxy.use(.init { ($0.cut, $0.ending) = (0, .reset) })
/// ```
///
/// TLS passes through it as any other bytes do; the client has to accept the proxy's address as the server's name.
public final class FaultProxy: Sendable {
    /// What a proxy has done so far.
    public struct Statistics: Sendable, Hashable {
        /// The connections that were accepted.
        public internal(set) var connections = 0
        /// The connections that the profile has ended.
        public internal(set) var ended = 0
        /// The bytes that were passed on.
        public internal(set) var bytes = 0
        /// The bytes that were changed.
        public internal(set) var corruptedBytes = 0
        /// The segments that were held up as lost.
        public internal(set) var lostSegments = 0

        fileprivate mutating func add(_ faults: FaultedConnection) {
            self.corruptedBytes += faults.corruptedBytes
            self.lostSegments += faults.lostSegments
        }
    }

    /// The wishes of other threads, and what they can look at.
    fileprivate struct Shared: Sendable {
        var statistics = Statistics()
        var profile: FaultProfile?
        var isStopping = false
    }

    /// The port at which it listens.
    public let port: Int
    private let shared = Lock(Shared())
    /// The end of a pipe that wakes the proxy's thread.
    private let waker: CInt
    private let ended = Promise<Void>()

    /// Begins to listen.
    ///
    /// - Parameters:
    ///   - host: the name or the address of the server.
    ///   - port: the server's port.
    ///   - address: the numeric address at which to listen.
    ///   - listeningPort: the port at which to listen; 0 for any that is free.
    ///   - profile: the faults; its time line begins now.
    ///   - seed: determines what happens by chance.
    /// - Throws: `LinkspanError` with code `invalidConfiguration` when the host has no address, or the port is not free.
    public init(
        to host: String, port: Int, listeningAt address: String = "127.0.0.1", port listeningPort: Int = 0,
        profile: FaultProfile, seed: UInt64 = 0
    ) throws(LinkspanError) {
        let target = try SocketAddress(host, port)
        let listener = try SocketAddress(address, listeningPort).listen()
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else {
            close(listener)
            throw LinkspanError(
                .invalidConfiguration, "no pipe for the proxy: \(SystemProblem.text(of: clinkspan_failure()))")
        }
        self.port = Int(clinkspan_port(listener))
        self.waker = ends[1]
        let (wake, shared, ended) = (ends[0], self.shared, self.ended)
        let isStarted = SystemThread.start(name: "linkspan-proxy") {
            ProxyLoop(listener: listener, wake: wake, target: target, profile: profile, seed: seed, shared: shared)
                .run()
            ended.fulfill()
        }
        guard isStarted else { throw LinkspanError(.invalidConfiguration, "no thread for the proxy") }
    }

    /// Begins to listen at a free port of this machine, with one phase of faults.
    public convenience init(
        to host: String, port: Int, seed: UInt64 = 0, _ faults: (inout FaultProfile.Phase) -> Void
    ) throws(LinkspanError) {
        try self.init(to: host, port: port, profile: FaultProfile(faults), seed: seed)
    }

    deinit { close(self.waker) }

    /// The counts so far.
    public var statistics: Statistics { self.shared.withLock { $0.statistics } }

    /// Replaces the faults, also for connections that are open; the profile's time line begins now.
    public func use(_ profile: FaultProfile) {
        self.shared.withLock { $0.profile = profile }
        self.wake()
    }

    /// Resets all connections and returns when the port is free.
    public func stop() async {
        self.shared.withLock { $0.isStopping = true }
        self.wake()
        await self.ended.value
    }

    private func wake() { _ = write(self.waker, [0], 1) }
}

/// A place for sockets.
private struct SocketAddress: Sendable {
    private let name: String
    private let bytes: [UInt8]

    init(_ host: String, _ port: Int) throws(LinkspanError) {
        self.name = "\(host):\(port)"
        var list: UnsafeMutablePointer<addrinfo>?
        guard (0...65_535).contains(port), getaddrinfo(host, "\(port)", nil, &list) == 0, let list else {
            throw LinkspanError(.invalidConfiguration, "\(host):\(port) is not the address of a host and a port")
        }
        defer { freeaddrinfo(list) }
        self.bytes = Array(UnsafeRawBufferPointer(start: list.pointee.ai_addr, count: Int(list.pointee.ai_addrlen)))
    }

    func listen() throws(LinkspanError) -> CInt {
        let listener = self.open(listens: true)
        guard listener < 0 else { return listener }
        throw LinkspanError(
            .invalidConfiguration,
            "the proxy cannot listen at \(self.name): \(SystemProblem.text(of: clinkspan_failure()))")
    }

    func connect() -> CInt { self.open(listens: false) }

    private func open(listens: Bool) -> CInt {
        self.bytes.withUnsafeBytes { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) {
                clinkspan_open_socket($0.baseAddress, socklen_t(bytes.count), listens)
            }
        }
    }
}

/// The thread of a proxy: sockets in, actions of ``FaultedConnection`` out.
private final class ProxyLoop {
    private struct End {
        let socket: CInt
        var unsent: ArraySlice<UInt8> = []
        /// Whether the peer may still send.
        var isReadable = true
        /// Whether the sending side is to be closed once everything is sent.
        var isFinishing = false
    }

    private struct Pair {
        var ends: [End]
        var faults: FaultedConnection
        /// When the faults have something to do.
        var due: Duration? = .zero
        /// How the connection ends; nil while it is open.
        var ending: FaultProfile.Ending?

        var isOver: Bool {
            switch self.ending {
            case nil: self.faults.isOver && self.ends.allSatisfy(\.unsent.isEmpty)
            case .close: self.ends.allSatisfy(\.unsent.isEmpty)
            case .reset: true
            case .halfOpen: !self.ends.contains(where: \.isReadable)
            }
        }
    }

    /// The most bytes that wait for a side that does not read, before the other is not read either.
    private static let roomBytes = 256 * 1_024
    private static let sides = [FaultProfile.Side.client, .server]

    private let listener: CInt
    private let wake: CInt
    private let target: SocketAddress
    private let seed: UInt64
    private let shared: Lock<FaultProxy.Shared>
    private var profile: FaultProfile
    private let start = ContinuousClock.now
    /// When the profile began, since the start.
    private var origin = Duration.zero
    private var pairs: [Pair] = []
    private var statistics = FaultProxy.Statistics()
    private var buffer = [UInt8](repeating: 0, count: 64 * 1_024)

    init(
        listener: CInt, wake: CInt, target: SocketAddress, profile: FaultProfile, seed: UInt64,
        shared: Lock<FaultProxy.Shared>
    ) {
        (self.listener, self.wake, self.target) = (listener, wake, target)
        (self.profile, self.seed, self.shared) = (profile, seed, shared)
    }

    private var now: Duration { ContinuousClock.now - self.start }

    func run() {
        while self.takeWishes() {
            var polled = [self.listener, self.wake].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            for pair in self.pairs {
                polled.append(self.interest(of: pair, 0))
                polled.append(self.interest(of: pair, 1))
            }
            poll(&polled, nfds_t(polled.count), self.patience)
            guard polled[1].revents & Int16(POLLHUP) == 0 else { break }
            if polled[1].revents != 0 { _ = CLinkspanRuntime.read(self.wake, &self.buffer, 1) }
            let now = self.now
            for index in self.pairs.indices {
                let (client, server) = (polled[2 + 2 * index].revents, polled[3 + 2 * index].revents)
                guard client | server != 0 || self.pairs[index].due.map({ $0 <= now }) ?? false else { continue }
                self.serve(index, [client, server], at: now)
            }
            self.removeEnded()
            if polled[0].revents != 0 { self.accept(at: now) }
            let statistics = self.pairs.reduce(into: self.statistics) { $0.add($1.faults) }
            self.shared.withLock { $0.statistics = statistics }
        }
        for pair in self.pairs { for end in pair.ends { clinkspan_reset_socket(end.socket) } }
        close(self.listener)
        close(self.wake)
    }

    /// Takes the wishes of other threads; false to stop.
    private func takeWishes() -> Bool {
        let (profile, isStopping) = self.shared.withLock { shared in
            defer { shared.profile = nil }
            return (shared.profile, shared.isStopping)
        }
        guard let profile else { return !isStopping }
        (self.profile, self.origin) = (profile, self.now)
        for index in self.pairs.indices {
            self.pairs[index].faults.use(profile, at: self.origin)
            self.pairs[index].due = self.origin
        }
        return !isStopping
    }

    /// The milliseconds to wait; -1 for ever.
    private var patience: CInt {
        guard let due = self.pairs.lazy.compactMap(\.due).min() else { return -1 }
        return CInt(min(60_000, max(0, ((due - self.now) / .milliseconds(1)).rounded(.up))))
    }

    private func interest(of pair: Pair, _ index: Int) -> pollfd {
        let (end, other) = (pair.ends[index], pair.ends[1 - index])
        let isFull = pair.faults.isFull(Self.sides[index]) || other.unsent.count >= Self.roomBytes
        // Bytes from a half-open connection are read and dropped, so that its end is seen.
        let reads = end.isReadable && (pair.ending == .halfOpen || pair.ending == nil && !isFull)
        let events = (reads ? POLLIN : 0) | (end.unsent.isEmpty ? 0 : POLLOUT)
        // The system reports an error again and again, also to those that do not ask.
        return pollfd(fd: events == 0 ? -1 : end.socket, events: Int16(events), revents: 0)
    }

    private func accept(at now: Duration) {
        while true {
            let client = clinkspan_accept(self.listener)
            guard client >= 0 else { return }
            let number = self.statistics.connections
            self.statistics.connections += 1
            let server = self.target.connect()
            guard server >= 0 else {
                clinkspan_reset_socket(client)
                continue
            }
            self.pairs.append(
                Pair(
                    ends: [End(socket: client), End(socket: server)],
                    faults: FaultedConnection(
                        self.profile, seed: self.seed, number: number, began: self.origin, at: now)))
        }
    }

    private func serve(_ index: Int, _ events: [Int16], at now: Duration) {
        for end in 0...1 where events[end] & ~Int16(POLLOUT) != 0 { self.read(index, end, at: now) }
        for action in self.pairs[index].faults.advance(to: now) {
            switch action {
            case .send(let bytes, let side):
                self.statistics.bytes += bytes.count
                self.pairs[index].ends[side == .client ? 0 : 1].unsent += bytes
            case .finish(let side): self.pairs[index].ends[side == .client ? 0 : 1].isFinishing = true
            case .end(let ending):
                self.statistics.ended += 1
                self.pairs[index].ending = ending
            }
        }
        for end in 0...1 { self.flush(index, end) }
        self.pairs[index].due = self.pairs[index].faults.next
    }

    private func read(_ index: Int, _ end: Int, at now: Duration) {
        let count = recv(self.pairs[index].ends[end].socket, &self.buffer, self.buffer.count, 0)
        if count > 0 {
            let bytes = Array(self.buffer.prefix(count))
            self.pairs[index].faults.receive(bytes, from: Self.sides[end], at: now)
        } else if count == 0 {
            self.pairs[index].ends[end].isReadable = false
            self.pairs[index].faults.finish(from: Self.sides[end], at: now)
        } else {
            self.fail(index, end)
        }
    }

    private func flush(_ index: Int, _ end: Int) {
        while !self.pairs[index].ends[end].unsent.isEmpty {
            let socket = self.pairs[index].ends[end].socket
            let count = self.pairs[index].ends[end].unsent.withUnsafeBytes {
                clinkspan_send(socket, $0.baseAddress, $0.count)
            }
            guard count > 0 else { return self.fail(index, end) }
            self.pairs[index].ends[end].unsent.removeFirst(count)
        }
        if self.pairs[index].ends[end].isFinishing {
            self.pairs[index].ends[end].isFinishing = false
            shutdown(self.pairs[index].ends[end].socket, CInt(SHUT_WR))
        }
    }

    /// Passes a reset by one side on to the other; errors that only ask for patience are none.
    private func fail(_ index: Int, _ end: Int) {
        guard ![EAGAIN, EWOULDBLOCK, EINTR, ENOTCONN, EINPROGRESS].contains(clinkspan_failure()) else { return }
        (self.pairs[index].ends[end].isReadable, self.pairs[index].ends[end].unsent) = (false, [])
        if self.pairs[index].ending != .halfOpen { self.pairs[index].ending = .reset }
    }

    private func removeEnded() {
        self.pairs.removeAll { pair in
            guard pair.isOver else { return false }
            self.statistics.add(pair.faults)
            for end in pair.ends {
                if pair.ending == .reset { clinkspan_reset_socket(end.socket) } else { close(end.socket) }
            }
            return true
        }
    }
}
