#if NIO
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import NIOCore

/// A stream of SwiftNIO: it carries out what the state machine decides.
final class NIOStream: ByteStream {
    /// The most that ``UpgradeRequest/deadline`` may be.
    private static let longestDeadline = Duration.seconds(60)
    /// The same for an exchange: long polls are held back by the server.
    private static let longestExchange = Duration.seconds(1800)
    static let finishDeadline = Duration.seconds(5)
    /// The most bytes that a handler is given at once.
    private static let longestPiece = 64 * 1024

    let core: NIOLoopCore
    let request: UpgradeRequest
    var machine: StreamStateMachine
    /// The connection, once TCP is there.
    private(set) var connection: Connection?
    /// The addresses that are dialed; the first to take the connection wins.
    private var attempts: [Connection] = []
    var handler: (any ByteStreamHandler)?
    // Its methods call nobody but the writers of ``write(_:)``, which only append, so that no access meets another.
    @exclusivity(unchecked) var outbox: Outbox
    /// Whether a flush of the outbox is scheduled for the end of this turn.
    var isFlushDue = false
    /// Whether slices are being given to SwiftNIO, which may report them as sent within the call.
    var isSending = false
    /// The configuration for TLS, if the stream is secure.
    private(set) var tls: TLSContext?
    private var deadline: (any ScheduledWork)?
    /// The wait before the next address is dialed beside those before.
    private var attemptDelay: (any ScheduledWork)?
    /// The look-up of the host's name, while it is under way.
    private var lookup: Resolver.Request?
    var isPaused = false
    /// The bytes that have come and were not looked at yet.
    private var input = CircularBuffer<ByteBuffer>()
    /// Reads the answer; nil when what comes is the stream.
    private var reader: AnswerReader?
    /// Whether the connection has ended, behind the input.
    private var isAtEnd = false
    /// Whether the TLS connection ended without a `close_notify` alert.
    ///
    /// A body without a length may be incomplete then (RFC 9112 section 9.8).
    private var isCut = false
    /// Whether the connection is broken, so that the input is handed over even while reading is paused.
    private var isBroken = false
    private var isReading = false
    /// The numeric address of the peer, if it opened the stream.
    let peerAddress: String?
    /// The number of bytes that are still read and dropped before a stream that is being finished is given up.
    var dropRoom = Int.max

    init(_ request: UpgradeRequest, handler: any ByteStreamHandler, core: NIOLoopCore) {
        self.request = request
        self.machine = StreamStateMachine(isExchange: request.isExchange)
        self.reader = AnswerReader(isExchange: request.isExchange)
        self.handler = handler
        self.core = core
        self.peerAddress = nil
        self.outbox = Outbox(lowWaterMark: request.lowWaterMark, highWaterMark: request.highWaterMark)
    }

    /// Makes a stream that the other side opened, which asks for nothing.
    init(acceptedFrom peerAddress: String?, lowWaterMark: Int, core: NIOLoopCore) {
        self.request = UpgradeRequest(host: "", port: 0, isSecure: false)
        self.machine = .accepted
        self.peerAddress = peerAddress
        self.core = core
        self.outbox = Outbox(lowWaterMark: lowWaterMark)
    }

    /// Takes over the connection that came in.
    func begin(_ channel: any Channel, handler: any ByteStreamHandler) {
        self.handler = handler
        let connection = Connection(self, isAccepted: true)
        self.connection = connection
        do {
            try connection.take(channel)
        } catch {
            return self.abortLater(ByteStreamError(.unavailable, "an accepted connection could not be taken"))
        }
        self.applyPause()
    }

    /// Checks the request and looks the host up.
    func start() {
        do throws(ByteStreamError) {
            try self.request.validated()
            if self.request.isSecure { self.tls = try self.core.context(for: self.request.tls) }
        } catch {
            return self.abortLater(error)
        }
        self.setDeadline(self.longestWait)
        if let path = self.request.socketPath { return self.resolved(.success([path])) }
        let host = self.request.proxy?.host ?? self.request.bareHost
        if NumericAddress.isIPv4(host) || NumericAddress.isIPv6(host) { return self.resolved(.success([host])) }
        let loop = self.core.loop
        guard let resolver = loop.resolver else { return self.resolved(.success([host])) }
        let stream = Confined(self, to: loop)
        self.lookup = resolver.resolve(host) { result in loop.execute { stream.value.resolved(result) } }
    }

    /// The time for opening, or for an exchange: of the whole answer, while it makes no progress.
    private var longestWait: Duration {
        min(self.request.deadline, self.request.isExchange ? Self.longestExchange : Self.longestDeadline)
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

// MARK: - Events of the connection

extension NIOStream {
    /// A certificate is not accepted; the failure of the handshake follows.
    func rejected(_ error: ByteStreamError) { self.machine.rejected(error) }

    func failed(_ connection: Connection, _ failure: DialFailure) {
        if let index = self.attempts.firstIndex(where: { $0 === connection }) {
            self.attempts.remove(at: index)
        } else {
            guard connection === self.connection else { return }
            self.connection = nil
        }
        self.act(self.machine.failed(failure))
    }

    /// An address took the connection: the other attempts are given up.
    func reached(_ connection: Connection) {
        self.machine.reached()
        self.attemptDelay?.cancel()
        self.connection = connection
        let attempts = self.attempts
        self.attempts = []
        for attempt in attempts where attempt !== connection { attempt.close() }
    }

    /// The way to the server is there: sends the request.
    func connected(_ connection: Connection) {
        guard connection === self.connection, self.machine.sendsRequest() else { return }
        connection.write(ByteBuffer(bytes: self.request.head))
        self.requestFlush()
    }

    func received(_ connection: Connection, _ buffer: ByteBuffer) {
        guard connection === self.connection else { return }
        var buffer = buffer
        // What TLS has decrypted may be longer than one read.
        while buffer.readableBytes > Self.longestPiece, let piece = buffer.readSlice(length: Self.longestPiece) {
            self.input.append(piece)
        }
        self.input.append(buffer)
        self.read()
    }

    /// The peer has ended the connection; what it sent before is heard before that.
    func ended(_ connection: Connection, isCut: Bool = false) {
        guard connection === self.connection else { return }
        self.isAtEnd = true
        if isCut { self.isCut = true }
        self.read()
    }

    /// The connection broke: the owner gets the input that came before, then the end, even while reading is paused.
    func broken(_ connection: Connection) {
        guard connection === self.connection else { return }
        self.isAtEnd = true
        self.isBroken = true
        self.isCut = self.request.isSecure
        self.read()
    }

    /// Hands over what has come, as far as it is wanted now.
    func read() {
        guard !self.isReading else { return }
        self.isReading = true
        defer { self.isReading = false }
        while self.connection != nil, self.isBroken || !(self.isPaused && self.machine.isOpen), self.step() {}
    }

    /// Returns whether there is more to do.
    private func step() -> Bool {
        guard self.reader != nil else {
            guard let buffer = self.input.popFirst() else { return self.stepAtEnd() }
            return self.handOver([UInt8](buffer.readableBytesView))
        }
        switch self.reader?.next() ?? .more {
        case .more:
            // What follows the head of an upgrade is the stream.
            if self.machine.isOpen, !self.request.isExchange {
                self.reader = nil
                return true
            }
            guard let buffer = self.input.popFirst() else { return self.stepAtEnd() }
            buffer.withUnsafeReadableBytes { self.reader?.append($0) }
            return true
        case .head(let answer): return self.judge(answer)
        case .bytes(let piece): return self.handOver(piece)
        case .end:
            self.act(self.machine.completed())
            return false
        case .failed(let error):
            self.abort(error)
            return false
        }
    }

    private func stepAtEnd() -> Bool {
        guard self.isAtEnd else { return false }
        let isWhole = !self.isCut && self.reader?.isUnfinished == false
        self.connection?.close()
        self.connection = nil
        self.act(isWhole ? self.machine.completed() : self.machine.connectionClosed())
        return false
    }

    private func judge(_ answer: UpgradeAnswer) -> Bool {
        switch self.machine.received(answer) {
        case .open:
            if !self.request.isExchange { self.deadline?.cancel() }
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

    private func handOver(_ bytes: [UInt8]) -> Bool {
        guard self.machine.isOpen, let handler = self.handler else { return self.drops(bytes.count) }
        self.machine.received(byteCount: bytes.count)
        handler.received(bytes)
        return true
    }

    /// Nobody wants these bytes; reading them all the same lets the peer come to our last ones, unless there is no end.
    private func drops(_ count: Int) -> Bool {
        self.dropRoom -= count
        guard self.dropRoom < 0, let error = self.machine.flooded() else { return true }
        self.end(error)
        return false
    }
}

// MARK: - Actions

extension NIOStream {
    private func act(_ action: StreamStateMachine.OnDial) {
        switch action {
        case .dial(let address, let others):
            // As a job, because SwiftNIO may be in the midst of an event of the connection before.
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
        let connection = Connection(self)
        self.attempts.append(connection)
        let port = self.request.socketPath == nil ? self.request.proxy?.port ?? self.request.port : nil
        connection.connect(
            to: .init(address: address, port: port, isProxy: self.request.proxy != nil), on: self.core)
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
        let peer: OpeningStage.Peer = self.request.proxy == nil ? .server : .proxy
        return self.machine.openingStage(peer) { self.connection?.openingStage(peer) ?? .connecting(peer) }
    }

    func applyPause() {
        guard self.machine.isOpen || self.machine.isFinishing else { return }
        self.connection?.setReading(!self.isPaused)
    }

    /// Says goodbye to the handler, exactly once: the machine ends once.
    private func end(_ error: ByteStreamError) {
        guard let handler = self.handler else { return }
        self.tearDown()
        handler.closed(self.request.proxy == nil ? error : error.ofProxy)
    }

    func endLater(_ error: ByteStreamError) {
        guard let handler = self.handler else { return }
        self.tearDown()
        let error = self.request.proxy == nil ? error : error.ofProxy
        self.core.loop.executeLocally { handler.closed(error) }
    }

    private func tearDown() {
        self.deadline?.cancel()
        self.attemptDelay?.cancel()
        if let lookup = self.lookup.take() { self.core.loop.resolver?.forget(lookup) }
        self.handler = nil
        self.outbox.end()
        self.input.removeAll()
        self.tls = nil
        self.drop()
        self.core.remove(self)
    }

    /// Closes the connections; their last events are ignored.
    private func drop() {
        let connection = self.connection.take()
        connection?.close()
        let attempts = self.attempts
        self.attempts = []
        for attempt in attempts { attempt.close() }
    }
}
#endif
