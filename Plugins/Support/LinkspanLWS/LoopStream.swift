internal import CLibwebsockets

/// The half of a stream that lives on the loop's thread: it carries out what the state machine decides.
final class LoopStream {
    /// The most that ``UpgradeRequest/deadline`` may be.
    private static let longestDeadline = Duration.seconds(60)
    /// The same for an exchange: long polls are held back by the server.
    private static let longestExchange = Duration.seconds(1800)
    private static let finishDeadline = Duration.seconds(5)
    /// The most that one address is given while there are others: two tries of TCP's.
    private static let longestAddress = Duration.seconds(2)

    let core: LoopCore
    let stream: ByteStream
    let request: UpgradeRequest
    var machine: ByteStream.StateMachine
    private(set) var dial: Dial?
    private var handler: (any ByteStreamHandler)?
    private var writer = StreamWriter()
    private var deadline: LoopTimer?
    private var addressDeadline: LoopTimer?
    private var deadlineTime = ContinuousClock.now
    private var isTouched = false
    private var isPaused = false
    private var isChunked = false
    private var probe: ByteStream?
    /// How much more is read and dropped before a stream that is being finished is given up.
    private var dropRoom = Int.max

    init(stream: ByteStream, request: UpgradeRequest, handler: any ByteStreamHandler, core: LoopCore) {
        self.stream = stream
        self.request = request
        self.machine = ByteStream.StateMachine(isExchange: request.exchange != nil)
        self.handler = handler
        self.core = core
    }

    /// Makes the half of a stream that the other side opened, which asks for nothing.
    convenience init(accepted stream: ByteStream, handler: any ByteStreamHandler, core: LoopCore) {
        let nothing = UpgradeRequest(host: "", port: 0, isSecure: false)
        self.init(stream: stream, request: nothing, handler: handler, core: core)
        self.machine = .accepted
    }

    /// Has the library carry the connection that came in.
    func begin(_ descriptor: CInt, on host: OpaquePointer) {
        let dial = Dial(stream: self)
        self.dial = dial
        guard let connection = clws_adopt_stream(host, descriptor, dial.retained()) else {
            dial.release()
            return self.abort(ByteStreamError(.unavailable, "the library could not take an accepted connection"))
        }
        dial.noticed(connection)
        clws_clear_timeout(connection)
        self.applyPause()
        if self.stream.withOutbox({ $0.open() }) { lws_callback_on_writable(connection) }
    }

    /// Checks the request and looks the host up.
    func start() {
        do throws(ByteStreamError) {
            try self.request.validated()
            _ = try self.core.host(for: self.request)
        } catch {
            return self.abort(error)
        }
        let longest = self.request.exchange == nil ? Self.longestDeadline : Self.longestExchange
        self.setDeadline(min(self.request.deadline, longest))
        let host = self.request.proxy?.host ?? self.request.bareHost
        if NumericAddress.isIPv4(host) || NumericAddress.isIPv6(host) { return self.resolved(.success([host])) }
        let stream = self.stream
        self.core.loop.resolver.resolve(host) { result in
            stream.loop.execute { stream.half.value?.resolved(result) }
        }
    }

    func resolved(_ result: Result<[String], ByteStreamError>) {
        self.act(self.machine.resolved(result))
    }

    func abort(_ error: ByteStreamError) {
        if let error = self.machine.abort(error) { self.end(error) }
    }

    /// As `abort`, from within a callback of the handler's: `closed` follows once that has returned.
    func abortWithin(_ error: ByteStreamError) {
        guard let error = self.machine.abort(error), let handler = self.handler else { return }
        self.tearDown()
        self.core.loop.execute { handler.closed(error) }
        self.core.loop.wake()
    }

    func finish(readingAtMost limit: Int) {
        switch self.machine.finish() {
        case .flush:
            self.dropRoom = limit
            self.setDeadline(Self.finishDeadline)
            self.setPaused(false)
            self.requestWritable()
        case .end(let error): self.end(error)
        case .ignore: ()
        }
    }

    func setPaused(_ isPaused: Bool) {
        self.isPaused = isPaused
        self.applyPause()
    }

    /// Asks the library for a chance to write.
    func requestWritable() {
        guard self.machine.isOpen || self.machine.isFinishing, let connection = self.dial?.connection else { return }
        lws_callback_on_writable(connection)
    }

    func endReadTurn() {
        guard self.isTouched else { return }
        self.isTouched = false
        self.handler?.readTurnEnded()
    }
}

// MARK: - Events of the library

extension LoopStream {
    /// Returns false to have the connection closed, as do the others.
    func received(_ dial: Dial, _ bytes: UnsafeRawBufferPointer) -> Bool {
        guard dial === self.dial else { return false }
        guard self.machine.isOpen, let handler = self.handler, !bytes.isEmpty else { return self.drops(bytes.count) }
        if !self.isTouched {
            self.isTouched = true
            self.core.touch(self)
        }
        handler.received([UInt8](bytes))
        return true
    }

    /// Nobody wants these bytes; reading them all the same lets the peer come to our last ones, unless there is no end.
    private func drops(_ count: Int) -> Bool {
        self.dropRoom -= count
        guard self.dropRoom < 0, let error = self.machine.flooded() else { return true }
        self.end(error)
        return false
    }

    func writable(_ dial: Dial) -> Bool {
        guard dial === self.dial, let connection = dial.connection else { return true }
        guard self.machine.isOpen || self.machine.isFinishing || self.machine.isSendingBody else { return true }
        switch self.writer.write(to: connection, from: self.stream) {
        case .failed:
            self.closed(dial)
            return false
        case .sent(isMore: true, let isDrained):
            lws_callback_on_writable(connection)
            if isDrained { self.handler?.drained() }
        case .sent(isMore: false, let isDrained):
            if self.machine.isSendingBody { clws_set_body_pending(connection, false) }
            if isDrained { self.handler?.drained() }
            if self.machine.flushed() { clws_half_close(connection) }
        }
        return true
    }

    func writeRequest(_ dial: Dial, into room: UnsafeMutablePointer<clws_room>) -> Bool {
        guard dial === self.dial, let connection = dial.connection, self.machine.sendsRequest() else { return false }
        // Never in the clear what was to be secret, whatever the library makes of a configuration.
        guard !self.request.isSecure || (lws_is_ssl(connection) != 0 && dial.isVerified) else { return false }
        self.addressDeadline?.cancel()
        let lines = self.request.headerLines
        guard clws_room_append(room, lines, lines.count) else { return false }
        if let exchange = self.request.exchange { self.begin(exchange, over: connection) }
        return true
    }

    private func begin(_ exchange: UpgradeRequest.Exchange, over connection: OpaquePointer) {
        if exchange.bodyLength > 0 {
            clws_set_body_pending(connection, true)
            lws_callback_on_writable(connection)
        } else {
            // The library's own patience is shorter than a long poll. It sets it after this call.
            let stream = self.stream
            self.core.loop.execute { stream.half.value?.awaitAnswer() }
        }
    }

    private func awaitAnswer() {
        guard self.machine.isSendingBody, let connection = self.dial?.connection else { return }
        clws_clear_timeout(connection)
    }

    func receivedHead(_ dial: Dial, _ connection: OpaquePointer) -> Bool {
        guard dial === self.dial else { return false }
        let answer = UpgradeAnswer(connection)
        switch self.machine.received(answer) {
        case .open:
            self.isChunked = answer.isChunked
            if self.request.exchange == nil { self.deadline?.cancel() }
            clws_clear_timeout(connection)
            self.applyPause()
            if self.stream.withOutbox({ $0.open() }) { lws_callback_on_writable(connection) }
            self.handler?.opened(answer.head)
            return true
        case .end(let error):
            self.end(error)
            return false
        case .ignore: return false
        }
    }

    func checkCertificate(_ dial: Dial, _ certificate: UnsafeMutablePointer<clws_certificate>) -> Bool {
        guard dial === self.dial else { return false }
        switch CertificateCheck(host: self.request.bareHost, options: self.request.tls).verdict(certificate) {
        case .next: return true
        case .good:
            dial.isVerified = true
            return true
        case .bad(let error):
            self.machine.rejected(error)
            return false
        }
    }

    func failed(_ dial: Dial, _ failure: DialFailure) {
        guard dial === self.dial else { return }
        self.dial = nil
        if case .proxy = failure, let proxy = self.request.proxy { return self.ask(proxy) }
        self.act(self.machine.failed(failure))
    }

    /// The answer's body is not what HTTP allows.
    func broke(_ dial: Dial) {
        guard dial === self.dial else { return }
        self.abort(ByteStreamError(.handshakeMalformed, "the answer's body breaks the rules of HTTP"))
    }

    /// The library takes a body in chunks for complete when the connection ends, even in the middle of a chunk.
    func completed(_ dial: Dial, byItself: Bool) {
        guard dial === self.dial else { return }
        guard byItself || !self.isChunked else { return self.closed(dial) }
        self.dial = nil
        self.act(self.machine.completed())
    }

    func closed(_ dial: Dial) {
        guard dial === self.dial else { return }
        self.dial = nil
        self.act(self.machine.connectionClosed())
    }
}

// MARK: - Actions

extension LoopStream {
    private func act(_ action: ByteStream.StateMachine.OnDial) {
        switch action {
        case .dial(let address, let others):
            // As a job, because the library must not be entered again from within its own callbacks.
            let stream = self.stream
            self.core.loop.execute { stream.half.value?.dial(address, others: others) }
        case .end(let error): self.end(error)
        case .ignore: ()
        }
    }

    private func dial(_ address: String, others: Int) {
        let host: OpaquePointer
        do throws(ByteStreamError) { host = try self.core.host(for: self.request) } catch { return self.abort(error) }
        self.drop()
        if others > 0 { self.limitAddress(others: others) }
        let dial = Dial(stream: self)
        self.dial = dial
        var place = address
        if let proxy = self.request.proxy {
            // The library goes to the proxy, which looks the server's name up.
            let isSet = lws_set_proxy(host, proxy.text(at: address)) == 0
            guard isSet else { return self.abort(ByteStreamError(.invalidRequest, "the proxy cannot be used")) }
            place = NumericAddress.isIPv6(self.request.bareHost) ? "[\(self.request.bareHost)]" : self.request.bareHost
        }
        let connection = clws_connect(
            self.core.raw, host, dial.retained(), place, CInt(self.request.port), self.request.hostHeader,
            self.request.target, self.request.method, self.request.exchange == nil, self.request.isSecure)
        guard let connection else {
            // Some failures are told by events within the call and destroy the connection, others are not.
            dial.release()
            return self.failed(dial, .connect)
        }
        dial.noticed(connection)
    }

    /// Finds out why the proxy refused, and ends with that.
    private func ask(_ proxy: ProxyOptions) {
        guard self.machine.isDialing, self.probe == nil else { return }
        let stream = self.stream
        let probe = ProxyProbe { error in stream.half.value?.abort(error) }
        self.probe = self.core.loop.connect(ProxyProbe.request(proxy, for: self.request), handler: probe)
    }

    /// Gives an address its part of the time that is left.
    private func limitAddress(others: Int) {
        let part = min(ContinuousClock.now.duration(to: self.deadlineTime) / (others + 1), Self.longestAddress)
        let stream = self.stream
        self.addressDeadline?.cancel()
        self.addressDeadline = self.core.loop.schedule(after: part) { stream.half.value?.addressTimedOut() }
    }

    private func addressTimedOut() {
        let isConnected = self.dial?.connection.map { clws_has_peer($0) } ?? false
        self.act(self.machine.addressTimedOut(isConnected: isConnected))
    }

    private func setDeadline(_ delay: Duration) {
        let stream = self.stream
        self.deadline?.cancel()
        self.deadlineTime = ContinuousClock.now + delay
        self.deadline = self.core.loop.schedule(after: delay) { stream.half.value?.deadlinePassed() }
    }

    private func deadlinePassed() {
        if let error = self.machine.deadlinePassed() { self.end(error) }
    }

    private func applyPause() {
        guard self.machine.isOpen || self.machine.isFinishing, let connection = self.dial?.connection else { return }
        lws_rx_flow_control(connection, self.isPaused ? 0 : 1)
    }

    /// Says goodbye to the handler, exactly once: the machine ends once.
    private func end(_ error: ByteStreamError) {
        guard let handler = self.handler else { return }
        if self.isTouched { self.endReadTurn() }
        self.tearDown()
        handler.closed(self.request.proxy == nil ? error : error.ofProxy)
    }

    private func tearDown() {
        self.deadline?.cancel()
        self.addressDeadline?.cancel()
        self.probe?.abort()
        self.probe = nil
        self.drop()
        self.handler = nil
        self.isTouched = false
        self.stream.end()
        self.stream.half.value = nil
        self.core.remove(self.stream)
    }

    /// Has the library close the connection; its last events are ignored.
    private func drop() {
        if let connection = self.dial?.connection { clws_kill(connection) }
        self.dial = nil
    }
}
