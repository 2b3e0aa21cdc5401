#if LWS
internal import CLibwebsockets
internal import LinkspanNetwork
internal import LinkspanRuntime

// The stream's own socket, from the answer on.

extension LoopStream {
    /// Takes the connection over from the library, which has written the request.
    func takeOver(_ dial: Dial) {
        guard dial === self.dial, let connection = dial.connection else { return }
        self.dial = nil
        dial.isTaken = true
        guard let socket = OpenSocket(takenFrom: connection, decoy: self.core.decoy) else {
            return self.abort(ByteStreamError(.unavailable, "the connection could not be taken over"))
        }
        guard self.use(socket) else { return }
        self.requestFlush()
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
        if self.awaitsWritable || socket.readsWhenWritable { events |= CInt(clws_ready_to_write) }
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

    /// Reads at the end of the turn what the socket's readiness does not tell of: bytes that the reader of the answer has,
    /// or that TLS has read already, and an end behind them.
    func readOn() {
        guard let socket = self.socket, !self.isReadDue, self.isReading else { return }
        guard socket.tls != nil || socket.isOver || socket.isBroken || self.isAnswerHeld else { return }
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
        if isWritable, self.awaitsWritable { self.send() }
    }

    /// Hands one read's bytes over, those that came first before others.
    func read() {
        guard let socket = self.socket, self.isReading else { return }
        guard !self.isAnswerHeld else {
            self.readAnswer()
            return self.readOn()
        }
        guard !socket.isOver else { return self.socketEnded() }
        let buffer = clws_receive_buffer(self.core.raw)
        var count = 0
        let outcome = clws_read(socket.descriptor, socket.tls, buffer, Int(clws_receive_size), &count)
        self.socket?.readsWhenWritable = outcome == .wants_write
        let isOver = outcome == .over || outcome == .cut
        if isOver {
            self.socket?.isOver = true
            self.socket?.hasFarewell = outcome == .over
        }
        if isOver || socket.isBroken, count == 0 { return self.socketEnded() }
        if count > 0 { self.take(UnsafeRawBufferPointer(start: buffer, count: count)) }
        self.watch()
        if outcome == .done || isOver || socket.isBroken { self.readOn() }
    }

    /// Sends what the outbox has, as far as the system takes it.
    func send() {
        guard let socket = self.socket else { return }
        switch self.outbox.send(over: socket) {
        case .failed: self.sendingFailed()
        case .sent(let isMore, let isDrained):
            self.awaitsWritable = isMore
            if !isMore, self.machine.flushed() { self.socket?.isEndDue = true }
            if !isMore, self.socket?.isEndDue == true {
                let isSaid = socket.endWriting()
                self.socket?.isEndDue = !isSaid
                self.awaitsWritable = !isSaid
            }
            self.watch()
            if isDrained { self.handler?.writable() }
        }
    }

    /// Nothing can be sent any more; what the peer said before is heard all the same.
    private func sendingFailed() {
        self.outbox.end()
        self.awaitsWritable = false
        self.socket?.isBroken = true
        self.readOn()
    }

    /// The connection has ended, or is broken.
    private func socketEnded() {
        guard let socket = self.socket else { return }
        if let tls = socket.tls, let refusal = DialFailure.noted(tls) { return self.act(self.machine.failed(refusal)) }
        self.ended(isCut: socket.tls != nil && !socket.hasFarewell)
    }

    func applyPause() {
        self.watch()
        self.readOn()
    }

    /// Gives the socket up.
    func closeSocket() {
        guard let socket = self.socket.take() else { return }
        self.core.poller.unwatch(socket.descriptor, former: socket.watched)
        socket.close()
    }
}
#endif
