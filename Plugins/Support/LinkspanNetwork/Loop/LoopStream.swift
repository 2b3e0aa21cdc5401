package import Linkspan
internal import LinkspanRuntime

/// Makes a connection of one stream, with what the back end needs for the request, such as its TLS configuration.
package typealias StreamDialer = (LoopStream) -> any StreamConnection

/// A stream of a loop: it carries out what the state machine decides, over a connection of the back end.
package final class LoopStream: ByteStream {
    private static let finishDeadline = Duration.seconds(5)

    /// What only opening needs; of an exchange it stays until the end.
    private final class Opening {
        /// The most that ``StreamRequest/deadline`` may be.
        private static let longestDeadline = Duration.seconds(60)
        /// The same for an exchange: long polls are held back by the server.
        private static let longestExchange = Duration.seconds(1800)

        let request: StreamRequest
        let dial: StreamDialer
        /// The connections that the exchange may use, and leaves its own to.
        let kept: KeptConnections?
        /// Whether the server keeps the connection open after the answer.
        var isKept = false
        /// The addresses that are dialed; the first to take the connection wins.
        var attempts: [any StreamConnection] = []
        /// The look-up of the host's name, if there was one.
        var lookup: Resolver.Request?
        /// The wait before the next address is dialed beside those before.
        var attemptDelay: (any ScheduledWork)?

        init(_ request: StreamRequest, over kept: KeptConnections?, _ dial: @escaping StreamDialer) {
            self.request = request
            self.kept = kept
            self.dial = dial
        }

        var peer: OpeningStage.Peer { self.request.proxy == nil ? .server : .proxy }

        /// The time for opening, or for an exchange: of the whole answer, while it makes no progress.
        var longestWait: Duration {
            min(self.request.deadline, self.request.isExchange ? Self.longestExchange : Self.longestDeadline)
        }
    }

    /// The bytes of an answer that are held.
    private struct Held {
        /// The end of the connection behind them; true when it was cut off.
        var isCut: Bool?
    }

    private let members: LoopMembers
    // Its methods call nobody.
    @exclusivity(unchecked) private var machine: StreamStateMachine
    private var opening: Opening?
    /// The connection, once TCP is there.
    private var connection: (any StreamConnection)?
    /// Reads the answer; nil once all that arrives belongs to the open stream.
    private var reader: Boxed<AnswerReader>?
    /// Set while the reader holds bytes for the handler, which has paused reading.
    private var held: Held?
    /// Set while the exchange has ended and its connection waits there for the next.
    private var keeper: KeptConnections?
    private var handler: (any ByteStreamHandler)?
    // Its methods call nobody but the writers of ``write(_:)``, which only append, so that no access meets another.
    @exclusivity(unchecked) private var buffer: WriteBuffer
    /// Whether a flush is scheduled for the end of this turn.
    private var isFlushDue = false
    private var deadline: (any ScheduledWork)?
    private var isPaused = false
    /// Whether the connection is broken, so that earlier bytes are handed over even while reading is paused.
    private var isBroken = false
    /// The numeric address of the peer, if it opened the stream.
    package let peerAddress: String?
    /// The number of bytes that are still read and dropped before a stream that is being finished is given up.
    private var dropRoom = Int.max

    /// Makes a stream that the other side opened, which asks for nothing.
    package init(acceptedFrom peerAddress: String?, among members: LoopMembers) {
        self.machine = .accepted
        self.peerAddress = peerAddress
        self.members = members
        self.buffer = WriteBuffer()
    }

    private init(_ request: StreamRequest, _ handler: any ByteStreamHandler, _ members: LoopMembers) {
        self.machine = StreamStateMachine(isExchange: request.isExchange)
        self.reader = Boxed(AnswerReader(isExchange: request.isExchange))
        self.handler = handler
        self.members = members
        self.peerAddress = nil
        self.buffer = WriteBuffer(lowWaterMark: request.lowWaterMark, highWaterMark: request.highWaterMark)
    }

    /// Begins to send a request.
    package static func connect(
        _ request: StreamRequest, handler: any ByteStreamHandler, over kept: KeptConnections?,
        among members: LoopMembers, by makeDialer: () throws(ByteStreamError) -> StreamDialer
    ) -> LoopStream {
        let stream = LoopStream(request, handler, members)
        members.add(stream)
        do throws(ByteStreamError) {
            try request.validated()
            stream.start(Opening(request, over: kept, try makeDialer()))
        } catch {
            stream.abortLater(error)
        }
        return stream
    }

    /// Serves a connection that came in.
    package func serve(_ connection: any StreamConnection, handler: any ByteStreamHandler) {
        self.members.add(self)
        self.connection = connection
        self.handler = handler
        self.applyPause()
        self.requestFlush()
    }

    /// Whether an accepted stream has not ended.
    package var isOpen: Bool { self.machine.isOpen }
}

// MARK: - Calls of its owner

extension LoopStream: LoopMember {
    package func write(_ fill: (inout [UInt8]) -> Void) -> SendAcceptance {
        let acceptance = self.buffer.write(fill)
        self.requestFlush()
        return acceptance
    }

    package var pendingBytes: Int { self.buffer.pendingBytes }

    package func finish(readingAtMost limit: Int) {
        self.buffer.refuseMore()
        switch self.machine.finish() {
        case .flush:
            self.dropRoom = limit
            self.setDeadline(Self.finishDeadline)
            self.setReadingPaused(false)
            self.requestFlush()
        case .end(let error): self.endLater(error)
        case .ignore: ()
        }
    }

    package func abort() { self.abortLater(ByteStreamError(.closedByUs, "the stream was aborted")) }

    /// As ``abort(_:)``, from within a call of the owner: the handler is called once that has returned.
    package func abortLater(_ error: ByteStreamError) {
        if let error = self.machine.abort(error) { self.endLater(error) }
    }

    package func abort(_ error: ByteStreamError) {
        self.closeKept()
        if let error = self.machine.abort(error) { self.end(error) }
    }

    package func setReadingPaused(_ isPaused: Bool) {
        guard self.isPaused != isPaused else { return }
        self.isPaused = isPaused
        self.applyPause()
        // Bytes received meanwhile follow later, never within this call.
        if !isPaused, self.held != nil { self.members.loop.executeLocally { self.readAnswer() } }
    }

    package var openingStage: OpeningStage? {
        let peer = self.opening?.peer ?? .server
        return self.machine.openingStage(peer) { self.connection?.openingStage(peer) ?? .connecting(peer) }
    }
}

// MARK: - Opening

extension LoopStream {
    private func start(_ opening: Opening) {
        self.opening = opening
        self.setDeadline(opening.longestWait)
        let connection = opening.kept?.take()
        _ = self.buffer.write { buffer in
            // That of a new connection is the back end's to send.
            if connection != nil { buffer = opening.request.head }
            if case .post(let body) = opening.request.purpose { buffer += body }
        }
        if let connection { return self.reuse(connection) }
        if let path = opening.request.socketPath { return self.resolved(.success([path])) }
        let host = opening.request.proxy?.host ?? opening.request.bareHost
        guard let resolver = self.members.resolver, !NumericAddress.isIPv4(host), !NumericAddress.isIPv6(host) else {
            return self.resolved(.success([host]))
        }
        let loop = self.members.loop
        let stream = Confined(self, to: loop)
        opening.lookup = resolver.resolve(host) { result in loop.execute { stream.value.resolved(result) } }
    }

    private func reuse(_ connection: any StreamConnection) {
        self.machine.reuses()
        self.connection = connection
        connection.carry(self)
        self.requestFlush()
    }

    private func resolved(_ result: Result<[String], ByteStreamError>) { self.act(self.machine.resolved(result)) }

    private func act(_ action: StreamStateMachine.OnDial) {
        switch action {
        case .dial(let address, let others):
            // As a job, because the back end may be in the midst of an event of the connection before.
            self.members.loop.executeLocally { self.dial(address, others: others) }
        case .end(let error): self.end(error)
        case .ignore: ()
        }
    }

    private func dial(_ address: String, others: Int) {
        // Its turn may come after the end, or after another address has answered.
        guard self.machine.isRacing, let opening = self.opening else { return }
        opening.attemptDelay?.cancel()
        if others > 0 {
            opening.attemptDelay = self.members.loop.scheduleLocally(after: StreamStateMachine.attemptDelay) {
                self.act(self.machine.attemptDelayPassed())
            }
        }
        let attempt = opening.dial(self)
        opening.attempts.append(attempt)
        let port = opening.request.proxy?.port ?? opening.request.port
        attempt.open(opening.request.socketPath == nil ? .host(address, port: port) : .path(address))
    }

    /// An address took the connection: the other attempts are given up.
    package func reached(_ connection: any StreamConnection) {
        self.machine.reached()
        self.connection = connection
        guard let opening = self.opening else { return }
        opening.attemptDelay?.cancel()
        for attempt in opening.attempts where attempt !== connection { attempt.close() }
        opening.attempts = []
    }

    /// A certificate is not accepted; the failure of the handshake follows.
    package func rejected(_ error: ByteStreamError) { self.machine.rejected(error) }

    /// Whether the request may be sent now.
    package func sendsRequest(_ connection: any StreamConnection) -> Bool {
        connection === self.connection && self.machine.sendsRequest()
    }

    /// The request is written: the connection carries the stream's bytes from now on.
    package func opened(_ connection: any StreamConnection) { self.requestFlush() }

    /// A connection, or the attempt to make it, failed.
    package func failed(_ connection: any StreamConnection, _ failure: DialFailure) {
        if connection === self.connection {
            self.connection = nil
        } else {
            self.opening?.attempts.removeAll { $0 === connection }
        }
        self.closeKept()
        self.act(self.machine.failed(failure))
    }

    private func setDeadline(_ delay: Duration) {
        self.deadline?.cancel()
        self.deadline = self.members.loop.scheduleLocally(after: delay) { self.deadlinePassed() }
    }

    private func deadlinePassed() {
        if let opening = self.opening, self.machine.isGettingOn(isPaused: self.isPaused) {
            return self.setDeadline(opening.longestWait)
        }
        if let error = self.machine.deadlinePassed(in: self.openingStage) { self.end(error) }
    }
}

// MARK: - Sending

extension LoopStream {
    /// Whether bytes may be sent: by an open stream until it has finished, by an exchange also before its answer.
    private var isSendingAllowed: Bool {
        self.machine.isOpen || self.machine.isFinishing || self.machine.isSendingBody
    }

    /// Schedules sending for the end of the turn.
    private func requestFlush() {
        guard !self.isFlushDue, self.connection != nil, self.isSendingAllowed,
            self.buffer.pendingBytes > 0 || self.machine.isFinishing
        else { return }
        self.isFlushDue = true
        self.members.flushLater(self)
    }

    /// Sends what waits, as far as the system takes it: at the end of a turn, or when it takes bytes again.
    package func flush() {
        self.isFlushDue = false
        guard self.isSendingAllowed, let connection = self.connection else { return }
        guard connection.flush() else {
            // What the peer said before is heard all the same.
            self.buffer.end()
            return self.isBroken = true
        }
        if self.buffer.pendingBytes == 0, self.machine.flushed() { connection.endWriting() }
        if self.buffer.takeWritable() { self.handler?.writable() }
    }

    /// Passes the next bytes to send to `body`, if any wait; they wait until ``sent(_:)``.
    package func withNextBytes(_ body: (UnsafeBufferPointer<UInt8>) -> Void) { self.buffer.withNext(body) }

    /// The system has taken so many of the bytes; within ``StreamConnection/flush()``.
    package func sent(_ count: Int) { self.buffer.sent(count) }

    /// The same at a later time.
    package func sentLater(_ count: Int) {
        self.buffer.sent(count)
        if self.buffer.takeWritable() { self.handler?.writable() }
        self.requestFlush()
    }

    /// The connection is broken: what the peer said before is heard even while reading is paused.
    package func broken() { self.isBroken = true }
}

// MARK: - Receiving

extension LoopStream {
    /// Whether bytes are read: always, except while the owner has paused an open stream whose connection is not broken.
    private var isReading: Bool { !self.isPaused || self.isBroken || !self.machine.isOpen }

    private func applyPause() { self.connection?.setReading(self.isReading) }

    /// Takes the bytes of one read.
    package func received(_ bytes: [UInt8]) {
        // An answer that nobody has asked for.
        guard self.keeper == nil else { return self.closeKept() }
        guard self.reader != nil else { return self.handOver(bytes) }
        bytes.withUnsafeBytes { self.reader?.value.append($0) }
        self.readAnswer()
    }

    /// The connection has ended; a body that lasts up to the end is complete only behind TLS's own end (RFC 9112 section 9.8).
    package func closed(isCut: Bool) {
        guard self.keeper == nil else { return self.closeKept() }
        // It carries no other request, whatever its answer has said.
        self.opening?.isKept = false
        if self.held != nil { self.readAnswer() }
        guard self.held == nil else {
            self.held?.isCut = isCut
            return
        }
        let isWhole = !isCut && self.reader?.value.isUnfinished == false
        self.act(isWhole ? self.machine.completed() : self.machine.connectionClosed())
    }

    /// Hands over what the reader has, as far as it is wanted now.
    private func readAnswer() {
        let former = self.held.take()
        while self.connection != nil, self.reader != nil {
            guard self.isReading else { return self.held = former ?? Held() }
            switch self.reader?.value.next() ?? .more {
            case .more:
                // What follows the head of an upgrade is the stream.
                if self.machine.isOpen, !self.machine.isExchange { self.reader = nil }
                if let isCut = former?.isCut { self.closed(isCut: isCut) }
                return
            case .head(let head): self.judge(head)
            case .bytes(let piece): self.handOver(piece)
            case .end: return self.act(self.machine.completed())
            case .failed(let error): self.abort(error)
            }
        }
    }

    private func judge(_ head: ResponseHead) {
        var head = head
        // The query may hold secrets.
        head.path = self.opening.map { String($0.request.target.prefix { $0 != "?" }) }
        switch self.machine.received(head) {
        case .open:
            if !self.machine.isExchange {
                self.deadline?.cancel()
                (self.deadline, self.opening) = (nil, nil)
            }
            if self.isPaused { self.applyPause() }
            self.requestFlush()
            self.opening?.isKept = head.status == 200 && head.keepsConnection
            self.handler?.opened(head)
        case .end(let error): self.end(error)
        case .ignore: ()
        }
    }

    private func handOver(_ bytes: [UInt8]) {
        guard self.machine.isOpen, let handler = self.handler else { return self.drop(bytes.count) }
        self.machine.received(byteCount: bytes.count)
        handler.received(bytes)
    }

    /// Nobody wants these bytes; reading them all the same lets the peer come to our last ones, unless there is no end.
    private func drop(_ count: Int) {
        self.dropRoom -= count
        guard self.dropRoom < 0, let error = self.machine.flooded() else { return }
        self.end(error)
    }
}

// MARK: - Ending

extension LoopStream {
    /// Reports the end to the handler, exactly once: the machine ends once.
    private func end(_ error: ByteStreamError) {
        if let report = self.tearDown(error) { report() }
    }

    private func endLater(_ error: ByteStreamError) {
        if let report = self.tearDown(error) { self.members.loop.executeLocally(report) }
    }

    /// Lets everything go; returns the report to the handler.
    private func tearDown(_ error: ByteStreamError) -> (() -> Void)? {
        guard let handler = self.handler.take() else { return nil }
        let error = self.opening?.request.proxy == nil ? error : error.ofProxy
        self.deadline?.cancel()
        if error.code == .completed, self.isReusable, let kept = self.opening?.kept, kept.keep(self) {
            self.keeper = kept
            self.deadline = self.members.loop.scheduleLocally(after: kept.idleLimit) { self.closeKept() }
        } else {
            self.connection.take()?.close()
            self.members.remove(self)
        }
        if let opening = self.opening.take() {
            opening.attemptDelay?.cancel()
            if let lookup = opening.lookup { self.members.resolver?.forget(lookup) }
            for attempt in opening.attempts { attempt.close() }
        }
        self.buffer.end()
        return { handler.closed(error) }
    }

    /// Whether another request can be sent over the connection.
    private var isReusable: Bool {
        self.opening?.isKept == true && self.reader?.value.isDone == true && !self.isBroken
            && self.buffer.pendingBytes == 0
    }

    /// Hands over the connection that was kept.
    func takeKept() -> (any StreamConnection)? {
        self.keeper = nil
        self.deadline?.cancel()
        self.members.remove(self)
        return self.connection.take()
    }

    /// Closes the connection if it was kept: its time is up, or the server has ended it.
    func closeKept() {
        guard let keeper = self.keeper else { return }
        keeper.forget(self)
        self.takeKept()?.close()
    }
}
