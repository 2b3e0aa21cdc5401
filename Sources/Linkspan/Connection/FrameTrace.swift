internal import DequeModule

/// The latest of what crossed a connection's links, for bug reports.
///
/// A ring of fixed size; the connection records under the lock that it holds anyway.
struct FrameTrace: Sendable {
    let capacity: Int
    private var latest: Deque<TracedFrame> = []

    init(capacity: Int) {
        self.capacity = capacity
        if capacity > 0 { self.latest.reserveCapacity(capacity) }
    }

    var isOn: Bool { self.capacity > 0 }

    /// The frames, the oldest first.
    var frames: [TracedFrame] { Array(self.latest) }

    mutating func record(_ frame: @autoclosure () -> TracedFrame) {
        guard self.isOn else { return }
        if self.latest.count == self.capacity { self.latest.removeFirst() }
        self.latest.append(frame())
    }
}

/// Something that crossed a link: what it was and how large, never what it said.
package struct TracedFrame: Sendable, Hashable {
    /// The kind of a frame.
    package enum Kind: Sendable, Hashable {
        /// The link opened; whether the server resumed the session.
        case opened(isContinuous: Bool)
        /// A message; with a number when it wants a reply.
        case message(event: String, id: UInt64?)
        /// The reply to the message with this number.
        case reply(id: UInt64)
        /// A message that the link took back or would not have.
        case refused(event: String)
        /// The facts about the link changed.
        case changed
        /// The link has room again.
        case writable
        /// The link ended.
        case closed(LinkspanError.Code)
    }

    /// The direction of a frame.
    package enum Direction: String, Sendable, Hashable {
        /// To the server.
        case sent
        /// From the server, or from the link itself.
        case received
    }

    /// The kind of the frame.
    package var kind: Kind
    /// The direction of the frame.
    package var direction: Direction
    /// The size of its arguments, binary included.
    package var byteCount: Int
    /// The number of its binary blobs.
    package var attachmentCount: Int
    /// The time of the frame.
    package var time: ContinuousClock.Instant

    init(_ kind: Kind, _ direction: Direction, _ payload: Payload = .empty, at time: ContinuousClock.Instant) {
        self.kind = kind
        self.direction = direction
        self.byteCount = payload.byteCount
        self.attachmentCount = payload.attachments.count
        self.time = time
    }

    init(_ event: LinkEvent, at time: ContinuousClock.Instant) {
        switch event {
        case .opened(let info):
            self.init(.opened(isContinuous: info.isContinuous), .received, at: time)
        case .message(let message):
            let name = Self.short(message.event)
            self.init(.message(event: name, id: message.replyID), .received, message.payload, at: time)
        case .reply(let id, let payload):
            self.init(.reply(id: id), .received, payload, at: time)
        case .changed:
            self.init(.changed, .received, at: time)
        case .writable:
            self.init(.writable, .received, at: time)
        case .closed(let error):
            self.init(.closed(error.code), .received, at: time)
        }
    }

    init(_ message: OutboundMessage, at time: ContinuousClock.Instant) {
        let name = Self.short(message.event)
        self.init(.message(event: name, id: message.requestID), .sent, message.payload, at: time)
    }

    init(refused message: OutboundMessage, at time: ContinuousClock.Instant) {
        self.init(.refused(event: Self.short(message.event)), .sent, message.payload, at: time)
    }

    /// The server chooses names, too: what is kept of one is bounded.
    private static func short(_ event: String) -> String {
        event.utf8.count <= 64 ? event : String(event.unicodeScalars.prefix(32)) + "…"
    }
}

extension TracedFrame: CustomStringConvertible {
    /// The frame in one line, without its time.
    package var description: String {
        let arrow = self.direction == .sent ? "->" : "<-"
        switch self.kind {
        case .opened(let isContinuous): return "link opened" + (isContinuous ? ", session resumed" : "")
        case .message(let event, let id):
            return "\(arrow) \(ForeignText.line(event))\(id.map { " (\($0))" } ?? ""), \(self.size)"
        case .reply(let id): return "\(arrow) reply to (\(id)), \(self.size)"
        case .refused(let event): return "\(arrow) \(ForeignText.line(event)) was not taken, \(self.size)"
        case .changed: return "link has changed"
        case .writable: return "link has room again"
        case .closed(let code): return "link closed: \(ForeignText.line(code.rawValue))"
        }
    }

    private var size: String {
        let bytes = "\(self.byteCount) \(self.byteCount == 1 ? "byte" : "bytes")"
        return self.attachmentCount == 0 ? bytes : "\(bytes) with \(self.attachmentCount) binary"
    }
}
