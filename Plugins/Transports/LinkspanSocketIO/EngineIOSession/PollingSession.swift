internal import DequeModule
internal import Linkspan
internal import LinkspanNetwork

/// The order of requests of long polling: at most one GET and one POST at a time, packets in their order.
///
/// The owner asks for ``next()`` after each change, makes the requests it gets, and reports their ends.
struct PollingSession: Sendable {
    /// A request to make.
    enum Request: Sendable, Equatable {
        /// A GET, whose answer has packets of the server.
        case poll
        /// A POST of these packets.
        case post([WebSocketMessage])
    }

    /// A packet that waits, and what matters to a WebSocket that may take over.
    struct Packet: Sendable, Equatable {
        let message: WebSocketMessage
        let isCompressible: Bool
    }

    private enum Phase: Sendable {
        case running
        /// No new request begins, so that another carrier can take over.
        case pausing
        /// The queued packets are still posted, and no further poll begins.
        case closing
        case ended
    }

    /// The most packets of one POST.
    ///
    /// python-engineio drops a POST with more, and says that all is well.
    static let maximumPackets = 16
    /// The size of the smallest POST that is suspected of exceeding a limit that the server did not announce.
    static let suspiciousBytes = 64 << 10

    /// The bytes waiting above which the session is full.
    private let highWaterMark: Int
    /// The version, for the form of bodies.
    let version: EngineIOVersion
    /// The most bytes of one POST, except for a single packet; from the server's handshake.
    var maximumPayload = Int.max
    private var phase = Phase.running
    private var isPolling = false
    private var isPosting = false
    /// Whether no GET is begun.
    var isReadingPaused = false
    private var isFull = false
    private var queue: Deque<Packet> = []
    private var queuedBytes = 0
    /// The size of the current POST, or of the latest one.
    private var postedBytes = 0

    init(version: EngineIOVersion, highWaterMark: Int) {
        self.version = version
        self.highWaterMark = highWaterMark
    }

    /// Whether no request is under way.
    var isQuiet: Bool { !self.isPolling && !self.isPosting }

    /// Whether the current POST may exceed a limit that the server did not announce.
    ///
    /// From ``suspiciousBytes`` on it may. Socket.IO servers before 4.5 announce no `maxPayload`; when a message is too large,
    /// they end the session and give no reason.
    var mayBeTooLarge: Bool {
        self.isPosting && self.maximumPayload == .max && self.postedBytes >= Self.suspiciousBytes
    }

    /// Whether packets wait, or the server has not confirmed those it was given.
    var hasUnposted: Bool { self.isPosting || !self.queue.isEmpty }

    /// Whether everything is done that closing wanted.
    var isClosed: Bool {
        if case .closing = self.phase { !self.isPosting && self.queue.isEmpty } else { false }
    }

    /// Adds packets, with nothing between them.
    mutating func enqueue(_ packets: [WebSocketMessage], isCompressible: Bool = true) -> SendAcceptance {
        switch self.phase {
        case .closing, .ended: return .refused
        case .running, .pausing: ()
        }
        for packet in packets { self.queuedBytes += self.length(of: packet) }
        self.queue += packets.lazy.map { Packet(message: $0, isCompressible: isCompressible) }
        self.isFull = self.isFull || self.queuedBytes > self.highWaterMark
        return self.isFull ? .acceptedAndFull : .accepted
    }

    /// The requests to begin now.
    mutating func next() -> [Request] {
        var requests: [Request] = []
        if case .running = self.phase, !self.isPolling, !self.isReadingPaused {
            self.isPolling = true
            requests.append(.poll)
        }
        switch self.phase {
        case .running, .closing:
            guard !self.isPosting, !self.queue.isEmpty else { return requests }
            self.isPosting = true
            requests.append(.post(self.takeBatch()))
        case .pausing, .ended: ()
        }
        return requests
    }

    /// A GET has ended.
    mutating func polled() { self.isPolling = false }

    /// A POST has ended well.
    ///
    /// - Returns: whether there is room again after ``/Linkspan/SendAcceptance/acceptedAndFull``.
    mutating func posted() -> Bool {
        self.isPosting = false
        guard self.isFull, self.queuedBytes <= self.highWaterMark / 2 else { return false }
        self.isFull = false
        return true
    }

    /// Begins no more requests until ``resume()`` or ``handOver()``.
    mutating func pause() { if case .running = self.phase { self.phase = .pausing } }

    /// Goes on after ``pause()``.
    mutating func resume() { if case .pausing = self.phase { self.phase = .running } }

    /// Ends the session and gives away what was not posted.
    mutating func handOver() -> [Packet] {
        defer { self.end() }
        return Array(self.queue)
    }

    /// Says goodbye: posts what is queued and the end, and polls no more.
    mutating func close() {
        if case .refused = self.enqueue([.text([UInt8(ascii: "1")])]) { return }
        self.phase = .closing
    }

    /// Takes nothing more.
    mutating func end() {
        self.phase = .ended
        self.queue = []
        self.queuedBytes = 0
    }

    /// Takes as many packets as go into one POST: one at least.
    private mutating func takeBatch() -> [WebSocketMessage] {
        var batch: [WebSocketMessage] = []
        var bytes = 0
        while let packet = self.queue.first?.message, batch.count < Self.maximumPackets {
            let length = self.length(of: packet)
            guard batch.isEmpty || bytes + length <= self.maximumPayload else { break }
            bytes += length
            batch.append(packet)
            self.queue.removeFirst()
        }
        self.queuedBytes -= bytes
        self.postedBytes = bytes
        return batch
    }

    /// The number of bytes that a text has in a body for itself.
    func length(ofText count: Int) -> Int {
        switch self.version {
        case .v4: count
        case .v3: LegacyPollingPayload.length(ofText: count)
        }
    }

    /// The number of bytes that an attachment has in a body.
    func length(ofAttachment count: Int) -> Int {
        switch self.version {
        case .v4: PollingPayload.length(ofBinary: count)
        case .v3: LegacyPollingPayload.length(ofBinary: count)
        }
    }

    private func length(of packet: WebSocketMessage) -> Int {
        switch self.version {
        case .v4: PollingPayload.length(of: packet)
        case .v3: LegacyPollingPayload.length(of: packet)
        }
    }
}
