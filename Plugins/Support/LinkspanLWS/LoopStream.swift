#if LWS
internal import CLibwebsockets
internal import LinkspanNetwork
internal import LinkspanRuntime

/// A stream: it carries out what the state machine decides.
///
/// It dials by itself, and libwebsockets does TLS and the request. From then on the stream has its socket to itself: the
/// library would lose fields of answers, and take bodies that are cut for complete.
final class LoopStream: Watched, ByteStream {
    /// The most that ``UpgradeRequest/deadline`` may be.
    private static let longestDeadline = Duration.seconds(60)
    /// The same for an exchange: long polls are held back by the server.
    private static let longestExchange = Duration.seconds(1800)
    static let finishDeadline = Duration.seconds(5)

    let core: LoopCore
    /// The request, until it has opened an upgrade's stream.
    private var kept: Boxed<UpgradeRequest>?
    private let isExchange: Bool
    private let hasProxy: Bool
    // Its methods call nobody.
    @exclusivity(unchecked) var machine: StreamStateMachine
    /// The addresses that are dialed; of the one that answers first, the library gets the socket.
    private var attempts: [Attempt] = []
    /// The library's connection, while it has one.
    var dial: Dial?
    /// The stream's own socket, once the request is written.
    var socket: OpenSocket?
    /// Reads the answer; nil once all that arrives belongs to the open stream.
    private var reader: Boxed<AnswerReader>?
    /// Whether the answer reader holds bytes for the handler, which has paused reading.
    private(set) var isAnswerHeld = false
    var handler: (any ByteStreamHandler)?
    // Its methods call nobody but the writers of ``write(_:)``, which only append, so that no access meets another.
    @exclusivity(unchecked) var outbox: Outbox
    /// Whether a flush of the outbox is scheduled for the end of this turn.
    var isFlushDue = false
    /// Whether sending waits for the socket's next writable event.
    var awaitsWritable = false
    /// Whether a read is scheduled for the end of this turn.
    var isReadDue = false
    /// The vhost, which all attempts of the stream use; kept until its end.
    private var host: VirtualHost?
    private var deadline: (any ScheduledWork)?
    /// The wait before the next address is dialed beside those before.
    private var attemptDelay: (any ScheduledWork)?
    var isPaused = false
    /// The look-up of the host's name, while it is under way.
    private var lookup: Resolver.Request?
    /// The numeric address of the peer, if it opened the stream.
    let peerAddress: String?
    /// The number of bytes that are still read and dropped before a stream that is being finished is given up.
    var dropRoom = Int.max

    init(_ request: UpgradeRequest, handler: any ByteStreamHandler, core: LoopCore) {
        self.kept = Boxed(request)
        self.isExchange = request.isExchange
        self.hasProxy = request.proxy != nil
        self.machine = StreamStateMachine(isExchange: request.isExchange)
        self.reader = Boxed(AnswerReader(isExchange: request.isExchange))
        self.handler = handler
        self.core = core
        self.peerAddress = nil
        self.outbox = Outbox(lowWaterMark: request.lowWaterMark, highWaterMark: request.highWaterMark)
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
    var request: UpgradeRequest { self.kept?.value ?? Self.nothing }

    private static let nothing = UpgradeRequest(host: "", port: 0, isSecure: false)

    /// Checks the request and looks the host up.
    func start() {
        do throws(ByteStreamError) {
            try self.request.validated()
            self.use(try self.core.host(for: self.request))
        } catch {
            return self.abortLater(error)
        }
        self.setDeadline(self.longestWait)
        if let path = self.request.socketPath { return self.resolved(.success([path])) }
        let host = self.request.proxy?.host ?? self.request.bareHost
        if NumericAddress.isIPv4(host) || NumericAddress.isIPv6(host) { return self.resolved(.success([host])) }
        let loop = self.core.loop
        let stream = Confined(self, to: loop)
        self.lookup = loop.resolver.resolve(host) { result in loop.execute { stream.value.resolved(result) } }
    }

    /// The time for opening, or for an exchange: of the whole answer, while it makes no progress.
    private var longestWait: Duration {
        min(self.request.deadline, self.isExchange ? Self.longestExchange : Self.longestDeadline)
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

// MARK: - Events of the socket

extension LoopStream {
    /// Takes bytes that were read.
    func take(_ bytes: UnsafeRawBufferPointer) {
        guard self.reader != nil else { return self.handOver(bytes.count, [UInt8](bytes)) }
        self.reader?.value.append(bytes)
        self.readAnswer()
    }

    /// Hands over what the reader has, as far as it is wanted now.
    func readAnswer() {
        self.isAnswerHeld = true
        while self.socket != nil, self.isReading {
            switch self.reader?.value.next() ?? .more {
            case .more:
                self.isAnswerHeld = false
                // What follows the head of an upgrade is the stream.
                if self.machine.isOpen, !self.isExchange { self.reader = nil }
                return
            case .head(let answer): self.judge(answer)
            case .bytes(let piece): self.handOver(piece.count, piece)
            case .end: self.act(self.machine.completed())
            case .failed(let error): self.abort(error)
            }
        }
    }

    private func judge(_ answer: UpgradeAnswer) {
        switch self.machine.received(answer) {
        case .open:
            if !self.isExchange {
                self.deadline?.cancel()
                (self.deadline, self.attemptDelay, self.kept) = (nil, nil, nil)
            }
            self.applyPause()
            self.requestFlush()
            self.handler?.opened(answer.head)
        case .end(let error): self.end(error)
        case .ignore: ()
        }
    }

    private func handOver(_ count: Int, _ bytes: @autoclosure () -> [UInt8]) {
        guard self.machine.isOpen, let handler = self.handler else { return self.drop(count) }
        self.machine.received(byteCount: count)
        handler.received(bytes())
    }

    /// Nobody wants these bytes; reading them all the same lets the peer come to our last ones, unless there is no end.
    private func drop(_ count: Int) {
        self.dropRoom -= count
        guard self.dropRoom < 0, let error = self.machine.flooded() else { return }
        self.end(error)
    }

    /// The connection has ended, or is broken; a body that lasts up to the end is complete only behind TLS's own end (RFC 9112
    /// section 9.8).
    func ended(isCut: Bool) {
        let isWhole = !isCut && self.reader?.value.isUnfinished == false
        self.act(isWhole ? self.machine.completed() : self.machine.connectionClosed())
    }
}

// MARK: - Events of the library

extension LoopStream {
    /// Returns false to have the connection closed, as does the next.
    func writeRequest(_ dial: Dial, into room: UnsafeMutablePointer<clws_room>) -> Bool {
        guard dial === self.dial, let connection = dial.connection, self.machine.sendsRequest() else { return false }
        // Never in the clear what was to be secret, whatever the library makes of a configuration.
        guard !self.request.isSecure || (lws_is_ssl(connection) != 0 && dial.isVerified) else { return false }
        let lines = self.request.headerLines
        guard clws_room_append(room, lines, lines.count) else { return false }
        clws_hold_answer(connection)
        // The request is written when this call has returned.
        self.core.loop.executeLocally { self.takeOver(dial) }
        return true
    }

    func checkCertificate(_ dial: Dial, _ certificate: UnsafeMutablePointer<clws_certificate>) -> Bool {
        guard dial === self.dial else { return false }
        switch CertificateCheck(host: self.request.serverName, policy: self.request.tls).verdict(certificate) {
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
        self.act(self.machine.failed(failure))
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
        // Its turn may come after the end, or after another address has answered.
        guard self.machine.isRacing else { return }
        self.attemptDelay?.cancel()
        if others > 0 {
            self.attemptDelay = self.core.loop.scheduleLocally(after: StreamStateMachine.attemptDelay) {
                self.act(self.machine.attemptDelayPassed())
            }
        }
        let attempt = Attempt(self)
        self.attempts.append(attempt)
        let port = self.request.proxy?.port ?? self.request.port
        attempt.begin(self.request.socketPath == nil ? .address(address, port: port) : .path(address))
    }

    /// An address took the connection: the other attempts are given up.
    func reached(_ attempt: Attempt) {
        self.machine.reached()
        self.attemptDelay?.cancel()
        for other in self.attempts where other !== attempt { other.close() }
        self.attempts = [attempt]
    }

    func failed(_ attempt: Attempt, _ failure: DialFailure) {
        guard let index = self.attempts.firstIndex(where: { $0 === attempt }) else { return }
        self.attempts.remove(at: index)
        self.act(self.machine.failed(failure))
    }

    /// The way to the server is there: the library gets the socket.
    func arrived(_ attempt: Attempt, _ descriptor: CInt) {
        guard self.machine.isDialing, let host = self.host else { return clws_discard(descriptor) }
        self.attempts = []
        let dial = Dial(stream: self, host: host)
        self.dial = dial
        let connection = clws_connect(
            self.core.raw, host.pointer, dial.retained(), self.request.hostHeader, self.request.target,
            self.request.method, !self.isExchange, self.request.isSecure)
        guard let connection, clws_dock_swap(&self.core.raw.pointee.dock, connection, descriptor) else {
            // Some failures are told by events within the call and destroy the connection, others are not.
            if let connection { clws_kill(connection) } else { clws_discard(descriptor) }
            if connection == nil { dial.release() }
            let error = ByteStreamError(.unavailable, "the library has no socket for the connection")
            return self.failed(dial, .rejected(error))
        }
        dial.noticed(connection)
    }

    func setDeadline(_ delay: Duration) {
        self.deadline?.cancel()
        self.deadline = self.core.loop.scheduleLocally(after: delay) { self.deadlinePassed() }
    }

    private func deadlinePassed() {
        if self.machine.isGettingOn(isPaused: self.isPaused) { return self.setDeadline(self.longestWait) }
        if let error = self.machine.deadlinePassed(in: self.openingStage) { self.end(error) }
    }

    var openingStage: OpeningStage? {
        let peer: OpeningStage.Peer = !self.hasProxy ? .server : .proxy
        return self.machine.openingStage(peer) {
            if self.dial != nil { return self.request.isSecure ? .tls : .connecting(peer) }
            return self.hasProxy && self.attempts.contains { $0.isConnected } ? .proxy : .connecting(peer)
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
        self.attemptDelay?.cancel()
        if let lookup = self.lookup.take() { self.core.loop.resolver.forget(lookup) }
        self.closeConnection()
        self.handler = nil
        self.outbox.end()
        self.host?.uses -= 1
        self.host = nil
        self.core.remove(self)
    }

    /// Closes the connection, or has the library do it, whose last events are ignored.
    private func closeConnection() {
        self.closeSocket()
        for attempt in self.attempts { attempt.close() }
        self.attempts = []
        if let connection = self.dial?.connection { clws_kill(connection) }
        self.dial = nil
        self.awaitsWritable = false
    }
}
#endif
