#if LWS
internal import CLibwebsockets
internal import LinkspanNetwork
internal import LinkspanRuntime

// An open stream's own socket.

extension LoopStream {
    /// Takes the connection over from the library, which closes what it is left with when its event returns.
    func takeOver(_ dial: Dial, _ connection: OpaquePointer, _ answer: UpgradeAnswer) {
        guard let takeover = Takeover(dial, connection, answer, core: self.core) else {
            return self.abort(ByteStreamError(.unavailable, "the process has no descriptor to spare"))
        }
        self.dial = nil
        self.takeover = takeover
        self.core.completeLater(takeover, of: self)
    }

    /// The library has let go of the connection.
    func complete(_ takeover: Takeover) {
        guard let socket = takeover.settle() else {
            return self.abort(ByteStreamError(.unavailable, "the connection could not be taken over"))
        }
        // It may have ended in between.
        guard self.takeover === takeover else { return socket.close() }
        self.takeover = nil
        self.early = takeover.early
        guard self.use(socket) else { return }
        if takeover.answer.isInterim {
            self.late = Boxed(AnswerReader(isExchange: false, interim: 1))
        } else {
            guard self.judge(takeover.answer) else { return }
        }
        self.readOn()
    }

    /// Serves a socket; returns false, and ends, when it cannot be watched.
    func use(_ socket: OpenSocket) -> Bool {
        self.socket = socket
        self.watch()
        return self.socket != nil
    }

    /// Sets the poller to watch for the events that the stream waits for now.
    func watch() {
        guard let socket = self.socket else { return }
        var events: CInt = 0
        if self.isReading { events |= CInt(clws_ready_to_read) }
        if self.isChanceDue || socket.readsWhenWritable { events |= CInt(clws_ready_to_write) }
        guard events != socket.watched else { return }
        guard self.core.poller.watch(socket.descriptor, of: self, former: socket.watched, events) else {
            return self.abortLater(ByteStreamError(.unavailable, "the system cannot watch another socket"))
        }
        self.socket?.watched = events
    }

    /// Whether bytes are read: always, except while the owner has paused an open stream whose connection is not broken.
    var isReading: Bool {
        !self.isPaused || self.socket?.isBroken == true || !(self.machine.isOpen || self.machine.isFinishing)
    }

    /// Reads at the end of the turn what the socket's readiness does not tell of: bytes that arrived with the answer, or
    /// that TLS has read already, and an end behind them.
    func readOn() {
        guard let socket = self.socket, !self.isReadDue, self.isReading else { return }
        guard socket.tls != nil || socket.isOver || socket.isBroken || !self.early.isEmpty else { return }
        self.isReadDue = true
        self.core.readLater(self)
    }

    /// The socket is ready, if the stream still has it.
    func socketReady(_ events: CInt) {
        guard let socket = self.socket else { return }
        let isOver = events & CInt(clws_ready_over) != 0
        let isWritable = events & CInt(clws_ready_to_write) != 0
        if isOver { self.socket?.isBroken = true }
        if isOver || events & CInt(clws_ready_to_read) != 0 || (isWritable && socket.readsWhenWritable) { self.read() }
        if isWritable, self.isChanceDue { self.send() }
    }

    /// Hands one read's bytes over, those that came first before others.
    func read() {
        guard let socket = self.socket, self.isReading else { return }
        guard self.early.isEmpty else { return self.readEarly() }
        guard !socket.isOver else { return self.socketEnded() }
        let buffer = clws_receive_buffer(self.core.raw)
        var count = 0
        let outcome = clws_read(socket.descriptor, socket.tls, buffer, Int(clws_receive_size), &count)
        self.socket?.readsWhenWritable = outcome == .wants_write
        if outcome == .over || socket.isBroken, count == 0 { return self.socketEnded() }
        if outcome == .over { self.socket?.isOver = true }
        if count > 0 { _ = self.take(UnsafeRawBufferPointer(start: buffer, count: count)) }
        self.watch()
        if outcome == .done || outcome == .over || socket.isBroken { self.readOn() }
    }

    /// Hands over what arrived with the answer, a read's length at a time.
    private func readEarly() {
        let bytes = Array(self.early.prefix(Int(clws_receive_size)))
        self.early = Array(self.early.dropFirst(bytes.count))
        _ = bytes.withUnsafeBytes { self.take($0) }
        self.readOn()
    }

    /// Sends what the outbox has, as far as the system takes it.
    func send() {
        guard let socket = self.socket else { return }
        switch self.outbox.send(over: socket) {
        case .failed: self.sendingFailed()
        case .sent(let isMore, let isDrained):
            self.isChanceDue = isMore
            if !isMore, self.machine.flushed() { self.socket?.isEndDue = true }
            if !isMore, self.socket?.isEndDue == true {
                let isSaid = socket.endWriting()
                self.socket?.isEndDue = !isSaid
                self.isChanceDue = !isSaid
            }
            self.watch()
            if isDrained { self.handler?.drained() }
        }
    }

    /// Nothing can be sent any more; what the peer said before is heard all the same.
    private func sendingFailed() {
        self.outbox.end()
        self.isChanceDue = false
        self.socket?.isBroken = true
        self.readOn()
    }

    /// The connection has ended, or is broken.
    private func socketEnded() {
        if let tls = self.socket?.tls, let refusal = DialFailure.noted(tls) {
            return self.act(self.machine.failed(refusal))
        }
        self.act(self.machine.connectionClosed())
    }

    func applyPause() {
        if self.socket != nil {
            self.watch()
            return self.readOn()
        }
        guard self.machine.isOpen || self.machine.isFinishing, let connection = self.dial?.connection else { return }
        lws_rx_flow_control(connection, self.isPaused ? 0 : 1)
    }

    /// Gives the socket up.
    func closeSocket() {
        self.takeover = nil
        self.early = []
        guard let socket = self.socket.take() else { return }
        self.core.poller.unwatch(socket.descriptor, former: socket.watched)
        socket.close()
    }
}
#endif
