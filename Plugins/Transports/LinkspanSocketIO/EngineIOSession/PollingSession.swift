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
        /// The first packet of its message; nil for that itself.
        let head: WebSocketMessage?
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
    /// The same because of proxies: nginx takes 1 MiB by default, whatever the server takes.
    private var maximumBatch = 1_000_000
    private var phase = Phase.running
    private var isPolling = false
    /// The packets of the current POST; empty when there is none.
    private var batch: [Packet] = []
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

    private var isPosting: Bool { !self.batch.isEmpty }

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
        for (index, packet) in packets.enumerated() {
            self.queue.append(
                Packet(message: packet, isCompressible: isCompressible, head: index == 0 ? nil : packets[0]))
        }
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
            self.takeBatch()
            requests.append(.post(self.batch.map(\.message)))
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
        self.batch = []
        guard self.isFull, self.queuedBytes <= self.highWaterMark / 2 else { return false }
        self.isFull = false
        return true
    }

    /// A POST was refused for its size: its packets go once more, in POSTs of half of it.
    ///
    /// - Returns: the packet, when it was the only one; it is dropped, with the rest of its message.
    mutating func refused() -> Packet? {
        defer { self.batch = [] }
        if self.batch.count > 1 {
            self.maximumBatch = self.postedBytes / 2
            self.queue.insert(contentsOf: self.batch, at: 0)
            self.queuedBytes += self.postedBytes
            return nil
        }
        while let next = self.queue.first, next.head != nil { self.removeFirst(next) }
        return self.batch.first
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
    private mutating func takeBatch() {
        self.postedBytes = 0
        let most = min(self.maximumPayload, self.maximumBatch)
        while let packet = self.queue.first, self.batch.count < Self.maximumPackets {
            let length = self.length(of: packet.message)
            guard self.batch.isEmpty || self.postedBytes + length <= most else { break }
            self.postedBytes += length
            self.batch.append(packet)
            self.removeFirst(packet)
        }
    }

    private mutating func removeFirst(_ packet: Packet) {
        self.queuedBytes -= self.length(of: packet.message)
        self.queue.removeFirst()
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
