#if LWS
internal import CLibwebsockets
internal import LinkspanNetwork
internal import LinkspanRuntime
// MARK: - Calls of its owner

extension LoopStream {
    func write(_ fill: (inout [UInt8]) -> Void) -> Int? {
        let pending = self.outbox.write(fill)
        self.requestFlush()
        return pending
    }

    var pendingBytes: Int { self.outbox.pendingBytes }

    func finish(readingAtMost limit: Int) {
        self.outbox.refuseMore()
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

    func abort() { self.abortLater(ByteStreamError(.closedByUs, "the stream was aborted")) }

    func setReadingPaused(_ isPaused: Bool) {
        self.isPaused = isPaused
        self.applyPause()
    }
}

// MARK: - Sending

extension LoopStream {
    /// Schedules sending for the end of the turn, unless the stream waits for a chance anyway.
    func requestFlush() {
        guard !self.isFlushDue, !self.isChanceDue, self.machine.isOpen || self.machine.isFinishing,
            self.outbox.pendingBytes > 0 || self.machine.isFinishing
        else { return }
        self.isFlushDue = true
        self.core.flushLater(self)
    }

    /// Sends what the turn has written, directly: a chance of the library's would cost a wait of its own.
    func flush() {
        self.isFlushDue = false
        guard !self.isChanceDue, self.machine.isOpen || self.machine.isFinishing else { return }
        guard self.socket == nil else { return self.send() }
        guard let dial = self.dial, let connection = dial.connection else { return }
        // Behind what the library has kept of a former slice.
        guard lws_partial_buffered(connection) == 0 else { return self.awaitChance(connection) }
        if !self.send(over: connection, of: dial) { clws_kill(connection) }
    }

    /// Leaves what the turn has written to the next chance that the system or the library reports.
    func flushByChance() {
        self.isFlushDue = false
        if let connection = self.dial?.connection { return self.awaitChance(connection) }
        guard self.socket != nil else { return }
        self.isChanceDue = true
        self.watch()
    }

    private func awaitChance(_ connection: OpaquePointer) {
        self.isChanceDue = true
        lws_callback_on_writable(connection)
    }

    /// Sends a slice of what waits; returns false when the connection is of no more use.
    func send(over connection: OpaquePointer, of dial: Dial) -> Bool {
        switch self.outbox.send(over: connection) {
        case .failed:
            if self.machine.isSendingBody { self.hearRefusal(connection) }
            self.closed(dial)
            return false
        case .sent(isMore: true, let isDrained):
            self.awaitChance(connection)
            if isDrained { self.handler?.drained() }
        case .sent(isMore: false, let isDrained):
            if self.machine.isSendingBody { clws_set_body_pending(connection, false) }
            if isDrained { self.handler?.drained() }
            if self.outbox.pendingBytes == 0, self.machine.flushed() { clws_half_close(connection) }
        }
        return true
    }

    /// A server that refuses a request may close before the whole body has come: its answer says why, and the library would
    /// read it only behind the body.
    private func hearRefusal(_ connection: OpaquePointer) {
        self.late = Boxed(AnswerReader(isExchange: true))
        let buffer = clws_receive_buffer(self.core.raw)
        while true {
            var count = 0
            _ = clws_read_past_library(connection, buffer, Int(clws_receive_size), &count)
            guard count > 0, self.take(UnsafeRawBufferPointer(start: buffer, count: count)) else { return }
        }
    }

    func writable(_ dial: Dial) -> Bool {
        guard dial === self.dial, let connection = dial.connection else { return true }
        self.isChanceDue = false
        guard self.machine.isOpen || self.machine.isFinishing || self.machine.isSendingBody else { return true }
        return self.send(over: connection, of: dial)
    }
}
#endif
