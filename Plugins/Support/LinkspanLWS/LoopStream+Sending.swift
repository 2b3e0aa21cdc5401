#if LWS
internal import Linkspan
internal import LinkspanNetwork

// MARK: - Calls of its owner

extension LoopStream {
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
        self.isPaused = isPaused
        self.applyPause()
    }
}

// MARK: - Sending

extension LoopStream {
    /// Whether bytes may be written to the socket in the stream's current state.
    ///
    /// An HTTP exchange sends its request body before the answer arrives; an upgraded stream sends once it is open, and until
    /// it has finished.
    private var isSendingAllowed: Bool {
        self.machine.isOpen || self.machine.isFinishing || self.machine.isSendingBody
    }

    /// Schedules sending for the end of the turn, unless the stream waits for a chance anyway.
    func requestFlush() {
        guard !self.isFlushDue, !self.awaitsWritable, self.socket != nil, self.isSendingAllowed,
            self.outbox.pendingBytes > 0 || self.machine.isFinishing
        else { return }
        self.isFlushDue = true
        self.core.flushLater(self)
    }

    /// Sends what the turn has written, directly: a chance of the system's would cost a wait of its own.
    func flush() {
        self.isFlushDue = false
        guard !self.awaitsWritable, self.isSendingAllowed else { return }
        self.send()
    }

    /// Leaves what the turn has written to the next chance that the system reports.
    func flushByChance() {
        self.isFlushDue = false
        guard self.socket != nil else { return }
        self.awaitsWritable = true
        self.watch()
    }
}
#endif
