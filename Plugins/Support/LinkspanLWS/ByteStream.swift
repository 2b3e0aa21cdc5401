internal import LinkspanRuntime

/// A two-way stream of bytes to a server, from the attempt to open it to its end; or one from a client, that a ``Listener``
/// accepted.
///
/// All methods may be called from any thread. Bytes written before the stream is open are kept and sent then.
public final class ByteStream: Sendable {
    /// The loop that the stream lives on.
    public let loop: EventLoop

    let half: LoopConfined<LoopStream?>
    private let outbox: Lock<Outbox>

    init(loop: EventLoop, lowWaterMark: Int) {
        self.loop = loop
        self.half = LoopConfined(nil, on: loop.identity)
        self.outbox = Lock(Outbox(lowWaterMark: lowWaterMark))
    }

    /// Appends bytes to what is waiting to be sent; returns how many wait now, or nil when the stream takes no more.
    ///
    /// `fill` gets the outgoing buffer itself and only ever appends to it: what it appends is sent as one run, whatever
    /// other threads write. It runs under the stream's lock, so it must be short and must not call the stream.
    @discardableResult
    public func write(_ fill: (inout [UInt8]) -> Void) -> Int? {
        let (pending, isRequest) = self.outbox.withLock { $0.write(fill) }
        if isRequest { self.loop.requestWrite(self) }
        return pending
    }

    /// The number of bytes that the system has not taken over yet.
    public var pendingBytes: Int { self.outbox.withLock { $0.pendingBytes } }

    /// Sends what is waiting, then closes; takes no more bytes from now on and delivers none.
    ///
    /// The peer is told that all was sent, and has until 5 seconds after this call to close too. Ends with `closedByUs`, or
    /// with `timedOut` when the rest could not be sent in that time. A stream that is not open yet is ended at once.
    ///
    /// - Parameter limit: the most bytes that are read and dropped meanwhile, for a peer that must be expected to send
    ///   without end; above it the stream is closed, and the peer may lose what it has not read.
    public func finish(readingAtMost limit: Int = .max) {
        self.outbox.withLock { $0.refuseMore() }
        self.loop.execute { self.half.value?.finish(readingAtMost: limit) }
    }

    /// Closes now, at any moment of an attempt, dropping what is waiting; ends with `closedByUs`.
    ///
    /// On the loop's thread no further event follows but ``ByteStreamHandler/closed(_:)``, after the current one.
    public func abort() {
        self.end()
        let error = ByteStreamError(.closedByUs, "the stream was aborted")
        guard self.loop.identity.isCurrent, let half = self.half.value else {
            return self.loop.execute { self.half.value?.abort(error) }
        }
        half.abortWithin(error)
    }

    /// Stops reading, so that the peer has to wait; also hides the peer's end until reading is resumed.
    public func pauseReading() { self.setPaused(true) }

    /// Reads again.
    public func resumeReading() { self.setPaused(false) }

    /// Drops what is waiting and takes no more.
    func end() { self.outbox.withLock { $0.end() } }

    /// Reaches the outgoing bytes, for the loop's half.
    func withOutbox<Result>(_ body: (inout Outbox) -> Result) -> Result { self.outbox.withLock(body) }

    private func setPaused(_ isPaused: Bool) {
        guard self.loop.identity.isCurrent, let half = self.half.value else {
            return self.loop.execute { self.half.value?.setPaused(isPaused) }
        }
        half.setPaused(isPaused)
    }
}
