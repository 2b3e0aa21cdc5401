#if LWS
internal import CLibwebsockets
internal import LinkspanNetwork
internal import LinkspanRuntime

/// A stream: it carries out what the state machine decides.
///
/// libwebsockets opens it. From the answer on an upgrade's stream has its socket to itself; an exchange stays with the
/// library, which knows where bodies end.
final class LoopStream: Watched, ByteStream {
    /// The most that ``UpgradeRequest/deadline`` may be.
    private static let longestDeadline = Duration.seconds(60)
    /// The same for an exchange: long polls are held back by the server.
    private static let longestExchange = Duration.seconds(1800)
    static let finishDeadline = Duration.seconds(5)
    /// The most that one address is given while there are others: two tries of TCP's.
    private static let longestAddress = Duration.seconds(2)

    /// A request, for as long as it is needed.
    private final class Kept {
        let request: UpgradeRequest
        init(_ request: UpgradeRequest) { self.request = request }
    }

    let core: LoopCore
    /// The request, until it has opened an upgrade's stream.
    private var kept: Kept?
    private let isExchange: Bool
    private let hasProxy: Bool
    var machine: StreamStateMachine
    /// The library's connection, while it has one.
    var dial: Dial?
    /// The connection on its way from the library.
    var takeover: Takeover?
    /// The open stream's own socket.
    var socket: OpenSocket?
    /// The bytes that arrived with the answer, and are not handed over yet.
    var early: [UInt8] = []
    var handler: (any ByteStreamHandler)?
    // Its methods call nobody but the writers of ``write(_:)``, which only append, so that no access meets another.
    @exclusivity(unchecked) var outbox: Outbox
    /// Whether a flush of the outbox is scheduled for the end of this turn.
    var isFlushDue = false
    /// Whether the next chance to write is awaited: the system's, or a callback of libwebsockets.
    var isChanceDue = false
    /// Whether a read is scheduled for the end of this turn.
    var isReadDue = false
    /// The vhost, which all attempts of the stream use; kept until its end.
    private var host: VirtualHost?
    private var deadline: (any ScheduledWork)?
    private var addressDeadline: (any ScheduledWork)?
    private var deadlineTime = ContinuousClock.now
    var isPaused = false
    private var isChunked = false
    /// Reads the answer, when interim ones came before it.
    var late: AnswerReader?
    private var probe: (any ByteStream)?
    /// The look-up of the host's name, while it is under way.
    private var lookup: Resolver.Request?
    /// The numeric address of the peer, if it opened the stream.
    let peerAddress: String?
    /// The number of bytes that are still read and dropped before a stream that is being finished is given up.
    var dropRoom = Int.max

    init(_ request: UpgradeRequest, handler: any ByteStreamHandler, core: LoopCore) {
        self.kept = Kept(request)
        self.isExchange = request.isExchange
        self.hasProxy = request.proxy != nil
        self.machine = StreamStateMachine(isExchange: request.isExchange)
        self.handler = handler
        self.core = core
        self.peerAddress = nil
        self.outbox = Outbox(lowWaterMark: request.lowWaterMark)
    }

    /// Makes a stream that the other side opened, which asks for nothing.
    init(acceptedFrom peerAddress: String?, lowWaterMark: Int, core: LoopCore) {
        self.isExchange = false
        self.hasProxy = false
        self.machine = .accepted
        self.peerAddress = peerAddress
        self.core = core
        self.outbox = Outbox(lowWaterMark: lowWaterMark)
    }

    /// Serves the connection that came in.
    func begin(_ descriptor: CInt, handler: any ByteStreamHandler) {
        self.handler = handler
        guard self.use(OpenSocket(descriptor)) else { return }
        self.requestFlush()
    }

    override func ready(_ events: CInt) { self.socketReady(events) }

    /// The request; one that asks for nothing once the stream is open.
    var request: UpgradeRequest { self.kept?.request ?? Self.nothing }

    private static let nothing = UpgradeRequest(host: "", port: 0, isSecure: false)

    /// Checks the request and looks the host up.
    func start() {
        do throws(ByteStreamError) {
            try self.request.validated()
            self.use(try self.core.host(for: self.request))
        } catch {
            return self.abortLater(error)
        }
        let longest = self.isExchange ? Self.longestExchange : Self.longestDeadline
        self.setDeadline(min(self.request.deadline, longest))
        let host = self.request.proxy?.host ?? self.request.bareHost
        if NumericAddress.isIPv4(host) || NumericAddress.isIPv6(host) { return self.resolved(.success([host])) }
        let loop = self.core.loop
        let stream = Confined(self, to: loop)
        self.lookup = loop.resolver.resolve(host) { result in loop.execute { stream.value.resolved(result) } }
    }

    private func use(_ host: VirtualHost) {
        host.uses += 1
        self.host = host
    }

    func resolved(_ result: Result<[String], ByteStreamError>) {
        self.lookup = nil
        self.act(self.machine.resolved(result))
    }

    func abort(_ error: ByteStreamError) {
        if let error = self.machine.abort(error) { self.end(error) }
    }

    /// As `abort`, from within a call of the owner: the handler hears of it once that has returned.
    func abortLater(_ error: ByteStreamError) {
        if let error = self.machine.abort(error) { self.endLater(error) }
    }
}

// MARK: - Events of the library

extension LoopStream {
    /// Returns false to have the connection closed, as do the others.
    func received(_ dial: Dial, _ bytes: UnsafeRawBufferPointer) -> Bool {
        guard dial === self.dial else { return false }
        return self.take(bytes)
    }

    /// Takes bytes behind the answer's head; returns false when the connection is of no more use.
    func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
        self.late == nil ? self.handOver(bytes) : self.takeLate(bytes)
    }

    private func handOver(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard self.machine.isOpen, let handler = self.handler, !bytes.isEmpty else { return self.drops(bytes.count) }
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

    func writeRequest(_ dial: Dial, into room: UnsafeMutablePointer<clws_room>) -> Bool {
        guard dial === self.dial, let connection = dial.connection, self.machine.sendsRequest() else { return false }
        // Never in the clear what was to be secret, whatever the library makes of a configuration.
        guard !self.request.isSecure || (lws_is_ssl(connection) != 0 && dial.isVerified) else { return false }
        self.addressDeadline?.cancel()
        let lines = self.request.headerLines
        guard clws_room_append(room, lines, lines.count) else { return false }
        switch self.request.purpose {
        case .upgrade, .connect: ()
        case .post(let bodyLength) where bodyLength > 0:
            clws_set_body_pending(connection, true)
            lws_callback_on_writable(connection)
        case .get, .post:
            // The library's own patience is shorter than a long poll. It sets it after this call.
            self.core.loop.executeLocally { self.awaitAnswer() }
        }
        return true
    }

    private func awaitAnswer() {
        guard self.machine.isSendingBody, let connection = self.dial?.connection else { return }
        clws_clear_timeout(connection)
    }

    func receivedHead(_ dial: Dial, _ connection: OpaquePointer) -> Bool {
        guard dial === self.dial else { return false }
        let answer = UpgradeAnswer(connection)
        // The library takes a body's length for an interim answer's too, and would read on after it.
        if !self.isExchange, answer.isInterim ? !answer.hasBody : answer.error == nil {
            self.takeOver(dial, connection, answer)
            return false
        }
        clws_clear_timeout(connection)
        guard !answer.isInterim else {
            self.late = AnswerReader(isExchange: self.isExchange, interim: 1)
            return true
        }
        return self.judge(answer)
    }

    func judge(_ answer: UpgradeAnswer) -> Bool {
        switch self.machine.received(answer) {
        case .open:
            self.isChunked = answer.isChunked
            if !self.isExchange {
                self.deadline?.cancel()
                (self.deadline, self.addressDeadline, self.kept) = (nil, nil, nil)
            }
            self.applyPause()
            self.requestFlush()
            self.handler?.opened(answer.head)
            return true
        case .end(let error):
            self.end(error)
            return false
        case .ignore: return false
        }
    }

    /// Takes bytes behind an interim answer, which the library takes for its body.
    private func takeLate(_ bytes: UnsafeRawBufferPointer) -> Bool {
        self.late?.append(bytes)
        while self.dial != nil || self.socket != nil {
            switch self.late?.next() ?? .more {
            case .more: return true
            case .head(let answer): guard self.judge(answer) else { return false }
            case .bytes(let piece): guard piece.withUnsafeBytes({ self.handOver($0) }) else { return false }
            case .end:
                self.act(self.machine.completed())
                return false
            case .malformed:
                self.abort(ByteStreamError(.handshakeMalformed, "the answer breaks the rules of HTTP"))
                return false
            }
        }
        return false
    }

    func checkCertificate(_ dial: Dial, _ certificate: UnsafeMutablePointer<clws_certificate>) -> Bool {
        guard dial === self.dial else { return false }
        switch CertificateCheck(host: self.request.bareHost, policy: self.request.tls).verdict(certificate) {
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
        guard byItself || !self.isChunked, self.late?.isUnfinished != true else { return self.closed(dial) }
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
    func act(_ action: StreamStateMachine.OnDial) {
        switch action {
        case .dial(let address, let others):
            // As a job, because the library must not be entered again from within its own callbacks.
            self.core.loop.executeLocally { self.dial(address, others: others) }
        case .end(let error): self.end(error)
        case .ignore: ()
        }
    }

    private func dial(_ address: String, others: Int) {
        // Its turn may come after the end.
        guard self.machine.isDialing, let host = self.host else { return }
        self.drop()
        if others > 0 { self.limitAddress(others: others) }
        let dial = Dial(stream: self, host: host)
        self.dial = dial
        var place = address
        if let proxy = self.request.proxy {
            // The library goes to the proxy, which looks the server's name up.
            let isSet = lws_set_proxy(host.pointer, proxy.text(at: address)) == 0
            guard isSet else { return self.abort(ByteStreamError(.invalidRequest, "the proxy cannot be used")) }
            place = NumericAddress.isIPv6(self.request.bareHost) ? "[\(self.request.bareHost)]" : self.request.bareHost
        }
        let connection = clws_connect(
            self.core.raw, host.pointer, dial.retained(), place, CInt(self.request.port), self.request.hostHeader,
            self.request.target, self.request.method, !self.isExchange, self.request.isSecure)
        guard let connection else {
            // Some failures are told by events within the call and destroy the connection, others are not.
            dial.release()
            return self.failed(dial, .connect)
        }
        dial.noticed(connection)
    }

    /// Finds out why the proxy refused, and ends with that.
    private func ask(_ proxy: HTTPProxy) {
        guard self.machine.isDialing, self.probe == nil else { return }
        let probe = ProxyProbe { error in self.abort(error) }
        self.probe = self.core.loop.connect(ProxyProbe.request(proxy, for: self.request), handler: probe)
    }

    /// Gives an address its part of the time that is left.
    private func limitAddress(others: Int) {
        let part = min(ContinuousClock.now.duration(to: self.deadlineTime) / (others + 1), Self.longestAddress)
        self.addressDeadline?.cancel()
        self.addressDeadline = self.core.loop.scheduleLocally(after: part) { self.addressTimedOut() }
    }

    private func addressTimedOut() {
        let isConnected = self.dial?.connection.map { clws_has_peer($0) } ?? false
        self.act(self.machine.addressTimedOut(isConnected: isConnected))
    }

    func setDeadline(_ delay: Duration) {
        self.deadline?.cancel()
        self.deadlineTime = ContinuousClock.now + delay
        self.deadline = self.core.loop.scheduleLocally(after: delay) { self.deadlinePassed() }
    }

    private func deadlinePassed() {
        if let error = self.machine.deadlinePassed(in: self.openingStage) { self.end(error) }
    }

    var openingStage: OpeningStage? {
        let peer: OpeningStage.Peer = !self.hasProxy ? .server : .proxy
        return self.machine.openingStage(peer) {
            if self.probe != nil { return .proxy }
            guard let connection = self.dial?.connection, clws_has_peer(connection) else { return .connecting(peer) }
            // The library begins TLS when the way to the server is there.
            if peer == .proxy, lws_get_ssl(connection) == nil { return .proxy }
            return self.request.isSecure ? .tls : .connecting(peer)
        }
    }

    /// Says goodbye to the handler, exactly once: the machine ends once.
    private func end(_ error: ByteStreamError) {
        guard let handler = self.handler else { return }
        self.tearDown()
        handler.closed(!self.hasProxy ? error : error.ofProxy)
    }

    func endLater(_ error: ByteStreamError) {
        guard let handler = self.handler else { return }
        self.tearDown()
        let error = !self.hasProxy ? error : error.ofProxy
        self.core.loop.executeLocally { handler.closed(error) }
        // Within an event of the library, which may go on to sleep without asking for our jobs.
        self.core.loop.wake()
    }

    private func tearDown() {
        self.deadline?.cancel()
        self.addressDeadline?.cancel()
        self.probe?.abort()
        self.probe = nil
        if let lookup = self.lookup.take() { self.core.loop.resolver.forget(lookup) }
        self.drop()
        self.handler = nil
        self.outbox.end()
        self.host?.uses -= 1
        self.host = nil
        self.core.remove(self)
    }

    /// Closes the connection, or has the library do it, whose last events are ignored.
    private func drop() {
        self.closeSocket()
        if let connection = self.dial?.connection { clws_kill(connection) }
        self.dial = nil
        self.isChanceDue = false
    }
}
#endif
