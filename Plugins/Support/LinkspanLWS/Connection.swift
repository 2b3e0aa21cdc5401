#if LWS
internal import CLibwebsockets
internal import LinkspanNetwork
internal import LinkspanRuntime

/// The request of one stream, with the virtual host that its TLS policy needs.
final class Dialer {
    fileprivate let request: StreamRequest
    fileprivate let host: VirtualHost

    init(_ request: StreamRequest, library: Library) throws(ByteStreamError) {
        self.request = request
        self.host = try library.host(for: request)
        self.host.uses += 1
    }

    deinit { self.host.uses -= 1 }
}

/// One connection to one address: TCP and the proxy's agreement by itself, TLS and the request by an ``Opener``, and then
/// its own socket again.
///
/// libwebsockets would lose fields of answers, and take bodies that are cut off for complete; and its loop looks at every
/// connection in each turn.
final class Connection: Watched, StreamConnection {
    fileprivate enum Stage {
        case connecting(Dialer)
        case proxy(Dialer, ProxyHandshake)
        case opening(Opener, isSecure: Bool)
        case open
    }

    /// Nil once the connection is of no more use to it.
    private var stream: LoopStream?
    private var stage: Stage
    private let library: Library
    private let poller: Poller
    /// Nil before it is made, while the library has it, and after the end.
    private var socket: OpenSocket?
    /// The bytes that the proxy is still to be sent.
    private var unsent: [UInt8] = []
    /// Whether the stream takes received bytes.
    private var isReadingWanted = true
    /// Whether sending waits for the socket's next writable event.
    private var awaitsWritable = false
    /// Whether a read is scheduled for the end of this turn.
    private var isReadDue = false

    private init(_ stream: LoopStream, stage: Stage, library: Library, poller: Poller) {
        self.stream = stream
        self.stage = stage
        self.library = library
        self.poller = poller
    }

    /// Makes a connection of a request.
    convenience init(_ stream: LoopStream, by dialer: Dialer, library: Library, poller: Poller) {
        self.init(stream, stage: .connecting(dialer), library: library, poller: poller)
    }

    /// Makes the connection of a stream that the other side opened, which begins to read with ``setReading(_:)``.
    convenience init(accepted descriptor: CInt, for stream: LoopStream, library: Library, poller: Poller) {
        self.init(stream, stage: .open, library: library, poller: poller)
        self.socket = OpenSocket(descriptor)
    }

    func openingStage(_ peer: OpeningStage.Peer) -> OpeningStage {
        switch self.stage {
        case .connecting: .connecting(peer)
        case .proxy: .proxy
        case .opening(_, let isSecure): isSecure ? .tls : .connecting(peer)
        case .open: .upgrade
        }
    }

    func close() {
        self.stream = nil
        if case .opening(let opener, _) = self.stage { opener.cancel() }
        self.closeSocket { $0.close() }
    }

    private func closeSocket(_ close: (OpenSocket) -> Void) {
        guard let socket = self.socket.take() else { return }
        self.poller.unwatch(socket.descriptor, of: self, former: socket.watched)
        close(socket)
    }

    private func fail(_ failure: DialFailure) {
        guard let stream = self.stream else { return }
        self.close()
        stream.failed(self, failure)
    }

    /// Sets the poller to watch for the events that the connection waits for now.
    private func watch() {
        guard let socket = self.socket else { return }
        var events: CInt = 0
        switch self.stage {
        case .connecting: events = CInt(clws_ready_to_write)
        case .proxy:
            events = CInt(self.unsent.isEmpty ? clws_ready_to_read : clws_ready_to_read | clws_ready_to_write)
        case .opening, .open:
            if self.isReading { events |= CInt(clws_ready_to_read) }
            if self.awaitsWritable || socket.readsWhenWritable { events |= CInt(clws_ready_to_write) }
        }
        guard events != socket.watched else { return }
        guard self.poller.watch(socket.descriptor, of: self, former: socket.watched, events) else {
            let error = ByteStreamError(.unavailable, "the system cannot watch another socket")
            guard case .open = self.stage else { return self.fail(.rejected(error)) }
            return self.stream?.abortLater(error) ?? ()
        }
        self.socket?.watched = events
    }

    override func ready(_ events: CInt) {
        switch self.stage {
        case .connecting(let dialer): self.connected(dialer)
        case .proxy(let dialer, let handshake): self.proxyReady(events, dialer, handshake)
        case .opening: ()
        case .open: self.socketReady(events)
        }
    }

    override func readAgain() {
        self.isReadDue = false
        self.read()
    }
}

// MARK: - TCP and proxy

extension Connection {
    func open(_ address: StreamAddress) {
        let descriptor =
            switch address {
            case .host(let address, let port): clws_dial(address, CInt(port))
            case .path(let path): clws_dial_path(path)
            }
        guard descriptor >= 0 else { return self.fail(.connect(SystemProblem.text(of: -descriptor))) }
        self.socket = OpenSocket(descriptor)
        self.watch()
    }

    private func connected(_ dialer: Dialer) {
        guard let descriptor = self.socket?.descriptor, let stream = self.stream else { return }
        let problem = clws_dial_problem(descriptor)
        guard problem == 0 else { return self.fail(.connect(SystemProblem.text(of: problem))) }
        stream.reached(self)
        guard let proxy = dialer.request.proxy else { return self.beginOpening(dialer) }
        let handshake = ProxyHandshake(proxy, for: dialer.request)
        self.stage = .proxy(dialer, handshake)
        self.sendToProxy(handshake.greeting)
    }

    private func proxyReady(_ events: CInt, _ dialer: Dialer, _ handshake: ProxyHandshake) {
        if events & CInt(clws_ready_to_write) != 0 { self.sendToProxy([]) }
        guard events & CInt(clws_ready_to_read | clws_ready_over) != 0, let socket = self.socket else { return }
        let (bytes, outcome) = self.readBytes(of: socket)
        guard !bytes.isEmpty else {
            if outcome == .over { self.fail(.rejected(ProxyHandshake.hungUp)) }
            return
        }
        var handshake = handshake
        let step = bytes.withUnsafeBytes { handshake.received($0) }
        self.stage = .proxy(dialer, handshake)
        switch step {
        case .more: ()
        case .send(let bytes): self.sendToProxy(bytes)
        case .done: self.beginOpening(dialer)
        case .failed(let error): self.fail(.rejected(error))
        }
    }

    private func sendToProxy(_ bytes: [UInt8]) {
        guard let descriptor = self.socket?.descriptor else { return }
        self.unsent += bytes
        let count = clws_dial_send(descriptor, self.unsent, self.unsent.count)
        // Of a connection that is broken, reading tells.
        self.unsent.removeFirst(count < 0 ? self.unsent.count : Int(count))
        self.watch()
    }
}

// MARK: - TLS and the request

extension Connection: OpenerOwner {
    /// Hands the socket to the library: nobody has sent anything on it that is not read.
    private func beginOpening(_ dialer: Dialer) {
        guard let descriptor = self.socket?.descriptor else { return }
        let opener = Opener(dialer.request, host: dialer.host, library: self.library, owner: self)
        self.stage = .opening(opener, isSecure: dialer.request.isSecure)
        self.closeSocket { _ in }
        opener.open(descriptor)
    }

    func sendsRequest() -> Bool { self.stream?.sendsRequest(self) ?? false }

    func rejected(_ error: ByteStreamError) { self.stream?.rejected(error) }

    func failed(_ failure: DialFailure) { self.fail(failure) }

    func opened(_ socket: OpenSocket) {
        guard let stream = self.stream else { return socket.close() }
        self.stage = .open
        self.socket = socket
        self.watch()
        stream.opened(self)
        self.readOn()
    }
}

// MARK: - The stream's bytes

extension Connection {
    func flush() -> Bool {
        guard let socket = self.socket, let stream = self.stream, !self.awaitsWritable else { return true }
        var (outcome, sent) = (clws_outcome.done, 0)
        stream.withNextBytes { bytes in
            guard let start = bytes.baseAddress else { return }
            outcome = clws_send(socket.descriptor, socket.tls, start, bytes.count, &sent)
        }
        guard outcome != .over else {
            self.socket?.isBroken = true
            self.readOn()
            return false
        }
        stream.sent(sent)
        self.awaitsWritable = stream.pendingBytes > 0
        self.watch()
        return true
    }

    func carry(_ stream: LoopStream) { self.stream = stream }

    func setReading(_ isReading: Bool) {
        self.isReadingWanted = isReading
        self.watch()
        self.readOn()
    }

    func endWriting() {
        guard let socket = self.socket else { return }
        let isSaid = socket.endWriting()
        self.socket?.isEndDue = !isSaid
        self.awaitsWritable = !isSaid
        self.watch()
    }

    private var isReading: Bool { self.isReadingWanted || self.socket?.isBroken == true }

    /// Reads at the end of the turn what the socket's readiness does not tell of: bytes that TLS has read already, and an end
    /// behind them.
    private func readOn() {
        guard let socket = self.socket, !self.isReadDue, self.isReading, case .open = self.stage,
            socket.tls != nil || socket.isOver || socket.isBroken
        else { return }
        self.isReadDue = true
        self.poller.readLater(self)
    }

    private func socketReady(_ events: CInt) {
        guard let socket = self.socket else { return }
        let isOver = events & CInt(clws_ready_over) != 0
        let isWritable = events & CInt(clws_ready_to_write) != 0
        if isOver {
            self.socket?.isBroken = true
            self.stream?.broken()
        }
        if isOver || events & CInt(clws_ready_to_read) != 0 || (isWritable && socket.readsWhenWritable) { self.read() }
        guard isWritable, self.awaitsWritable else { return }
        self.awaitsWritable = false
        if self.socket?.isEndDue == true { self.endWriting() } else { self.stream?.flush() }
    }

    /// Hands one read's bytes over.
    private func read() {
        guard let socket = self.socket, let stream = self.stream, self.isReading else { return }
        guard !socket.isOver else { return self.ended() }
        let (bytes, outcome) = self.readBytes(of: socket)
        self.socket?.readsWhenWritable = outcome == .wants_write
        let isOver = outcome == .over || outcome == .cut
        if isOver {
            self.socket?.isOver = true
            self.socket?.hasFarewell = outcome == .over
        }
        if isOver || socket.isBroken, bytes.isEmpty { return self.ended() }
        if !bytes.isEmpty { stream.received(bytes) }
        self.watch()
        if outcome == .done || isOver || socket.isBroken { self.readOn() }
    }

    /// Reads the bytes that have come, at most as many as fit into the buffer.
    private func readBytes(of socket: OpenSocket) -> (bytes: [UInt8], outcome: clws_outcome) {
        let memory = clws_receive_buffer(self.library.raw)
        var count = 0
        let outcome = clws_read(socket.descriptor, socket.tls, memory, Int(clws_receive_size), &count)
        return ([UInt8](UnsafeRawBufferPointer(start: memory, count: count)), outcome)
    }

    /// The connection has ended, or is broken.
    private func ended() {
        guard let socket = self.socket, let stream = self.stream else { return }
        if let tls = socket.tls, let refusal = DialFailure.noted(tls) { return self.fail(refusal) }
        stream.closed(isCut: socket.tls != nil && !socket.hasFarewell)
    }
}
#endif
