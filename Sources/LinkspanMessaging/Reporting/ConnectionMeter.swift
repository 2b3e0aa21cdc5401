package import Linkspan

/// Counts the messages of one connection, and keeps a sample of the latest for a service that shows them to developers.
///
/// A value on the connection's executor. The counts are exact; the sample has room for as many as were asked for, and
/// nothing is sampled while there is no room.
package struct ConnectionMeter: Sendable {
    /// Numbers of messages and of the bytes of their arguments, since the connection was made.
    package struct Counts: Sendable, Hashable, Encodable {
        /// Messages that a link took.
        package var sent: UInt64 = 0
        /// The bytes of their arguments.
        package var sentBytes: UInt64 = 0
        /// Messages that came.
        package var received: UInt64 = 0
        /// The bytes of their arguments.
        package var receivedBytes: UInt64 = 0
        /// Requests and deliveries that were answered.
        package var answered: UInt64 = 0
        /// Commands that ended with an error, those that were cancelled or replaced apart.
        package var failed: UInt64 = 0

        /// Nothing has been counted.
        package init() {}
    }

    /// A message that crossed the link.
    package struct Frame: Sendable {
        /// The kinds of a frame.
        package enum Kind: Sendable, Hashable {
            /// A message to the server.
            case sent
            /// A message from the server.
            case received
            /// The reply to a message, after this time.
            case answered(after: Duration)
            /// A command that ended with an error of this code.
            case failed(LinkspanError.Code)
        }

        /// The kind of the frame.
        package var kind: Kind
        /// The name of the event, at most 64 bytes of it.
        package var event: String
        /// The bytes of its arguments.
        package var bytes: Int
        /// The time.
        package var time: ContinuousClock.Instant
        /// The beginning of its arguments, if that was asked for.
        package var excerpt: [UInt8]
    }

    /// The counts.
    package private(set) var counts = Counts()
    private var frames: [Frame] = []
    private var room = 0
    private var excerptBytes = 0
    /// Whether there is room in the sample.
    var isSampling: Bool { self.frames.count < self.room }

    /// Takes the sample, and makes room for another.
    ///
    /// - Parameters:
    ///   - room: how many messages it may have; 0 for none.
    ///   - excerptBytes: how many bytes of the arguments of each are kept.
    /// - Returns: the messages, the oldest first.
    package mutating func takeSample(room: Int, excerptBytes: Int) -> [Frame] {
        defer { self.frames = [] }
        (self.room, self.excerptBytes) = (room, excerptBytes)
        return self.frames
    }

    mutating func sent(_ command: Command, at now: () -> ContinuousClock.Instant) {
        self.counts.sent += 1
        self.counts.sentBytes += UInt64(command.byteCount)
        if self.isSampling { self.add(.sent, command.event, command.payload, now()) }
    }

    mutating func received(
        _ event: String, _ payload: borrowing Payload, at now: () -> ContinuousClock.Instant
    ) {
        self.counts.received += 1
        self.counts.receivedBytes += UInt64(payload.byteCount)
        if self.isSampling { self.add(.received, event, payload, now()) }
    }

    mutating func finished(
        _ command: Command, _ outcome: Result<Payload, LinkspanError>, after roundTrip: Duration?,
        at now: () -> ContinuousClock.Instant
    ) {
        switch outcome {
        case .success(let reply):
            guard command.kind != .send else { return }
            self.counts.answered += 1
            if let roundTrip, self.isSampling {
                self.add(.answered(after: roundTrip), command.event, reply, now())
            }
        case .failure(let error):
            guard error.code != .cancelled else { return }
            self.counts.failed += 1
            if self.isSampling { self.add(.failed(error.code), command.event, .empty, now()) }
        }
    }

    private mutating func add(
        _ kind: Frame.Kind, _ event: String, _ payload: borrowing Payload, _ now: ContinuousClock.Instant
    ) {
        let name = event.utf8.count <= 64 ? event : String(event.unicodeScalars.prefix(32)) + "…"
        let excerpt = self.excerptBytes > 0 ? Array(payload.elements.prefix(self.excerptBytes)) : []
        self.frames.append(Frame(kind: kind, event: name, bytes: payload.byteCount, time: now, excerpt: excerpt))
    }
}
