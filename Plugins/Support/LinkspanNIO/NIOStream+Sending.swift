#if NIO
internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import NIOCore

// MARK: - Calls of its owner

extension NIOStream {
    func write(_ fill: (inout [UInt8]) -> Void) -> SendAcceptance {
        let acceptance = self.outbox.write(fill)
        self.requestFlush()
        return acceptance
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
        guard self.isPaused != isPaused else { return }
        self.isPaused = isPaused
        self.applyPause()
        // What has come meanwhile is heard of later, never within this call.
        if !isPaused { self.core.loop.executeLocally { self.read() } }
    }
}

// MARK: - Sending

extension NIOStream {
    private var isSendingAllowed: Bool {
        if self.machine.isOpen || self.machine.isFinishing { return true }
        guard case .post = self.request.purpose else { return false }
        return self.machine.isSendingBody
    }

    /// Schedules sending for the end of the turn, unless the stream waits for the system anyway.
    func requestFlush() {
        guard !self.isFlushDue, self.isSendingAllowed, self.outbox.pendingBytes > 0 || self.machine.isFinishing
        else { return }
        self.isFlushDue = true
        self.core.flushLater(self)
    }

    /// Sends what waits, as far as the system takes it.
    func flush() {
        self.isFlushDue = false
        guard !self.isSending else { return }
        self.isSending = true
        defer { self.isSending = false }
        while self.isSendingAllowed, let connection = self.connection, connection.isReady,
            let slice = self.outbox.next(connection.allocator)
        {
            connection.write(slice) { [weak self] isSent in self?.wrote(isSent, over: connection) }
        }
        if self.machine.isFinishing, self.outbox.pendingBytes == 0, let connection = self.connection,
            self.machine.flushed()
        {
            connection.halfClose()
        }
    }

    private func wrote(_ isSent: Bool, over connection: Connection) {
        // Of a failure, the end of the channel tells.
        guard isSent, connection === self.connection else { return }
        self.core.enter {
            if self.outbox.sent() { self.handler?.writable() }
            if !self.isSending { self.requestFlush() }
        }
    }
}
#endif
