internal import Linkspan

/// Turns Engine.IO messages into Socket.IO v5 packets, and puts the attachments of binary ones together.
///
/// What a packet says stays in the frame's memory: payloads are slices of it. After an error no half packet is kept,
/// and the decoder can go on with the next frame, though the owner should close the connection (S07).
package struct SocketIODecoder: Sendable {
    private enum State: Sendable {
        case idle
        indirect case collecting(HalfPacket)
    }

    private var state: State = .idle
    private let limits: SocketIOLimits

    /// Makes a decoder.
    package init(limits: SocketIOLimits = .usual) { self.limits = limits }

    /// Whether attachments are due, so that the next frame has to be a binary one.
    package var isCollecting: Bool {
        if case .collecting = self.state { true } else { false }
    }

    /// The bytes of a packet whose attachments are due.
    package var unfinishedBytes: Int {
        if case .collecting(let half) = self.state { half.byteCount } else { 0 }
    }

    /// Takes a message in text, without the Engine.IO type.
    ///
    /// - Returns: the packet, or nil when attachments are due first, or when the packet means nothing.
    package mutating func receive(text: ArraySlice<UInt8>) throws(SocketIOProtocolError) -> SocketIOPacket? {
        try self.finish(self.check(text: text, behind: 0), text)
    }

    /// Checks a message in text, which begins behind so many bytes of a frame, and takes it apart.
    @inline(__always)
    mutating func check(text: ArraySlice<UInt8>, behind type: Int) throws(SocketIOProtocolError) -> SocketIOBody {
        guard case .idle = self.state else {
            self.state = .idle
            throw SocketIOProtocolError(.outOfTurn, "a text packet where an attachment is expected")
        }
        guard text.count - type <= self.limits.maximumMessageBytes else { throw self.tooLarge }
        return try text.withUnsafeBufferPointer { frame throws(SocketIOProtocolError) in
            let buffer = UnsafeBufferPointer(rebasing: frame[type...])
            return try SocketIOBody(buffer, maximumAttachments: self.limits.maximumAttachments)
        }
    }

    /// The packet of a checked text; nil as for ``receive(text:)``.
    mutating func finish(
        _ body: SocketIOBody, _ text: ArraySlice<UInt8>
    ) throws(SocketIOProtocolError) -> SocketIOPacket? {
        guard body.header.attachments == 0 else {
            // What is wrong with the text is known now; nothing is to be collected for it.
            _ = try body.packet(text, attachments: [])
            self.state = .collecting(HalfPacket(body: body, text: text))
            return nil
        }
        return try body.packet(text, attachments: [])
    }

    /// Takes a message in binary: the next attachment.
    ///
    /// - Returns: the packet when it is complete.
    package mutating func receive(binary: ArraySlice<UInt8>) throws(SocketIOProtocolError) -> SocketIOPacket? {
        guard case .collecting(var half) = self.state else {
            throw SocketIOProtocolError(.outOfTurn, "a binary frame where no attachment is expected")
        }
        // Taken out of the state, so that appending does not copy; and so that an error below leaves nothing behind.
        self.state = .idle
        guard binary.count <= self.limits.maximumMessageBytes - half.byteCount else { throw self.tooLarge }
        half.append(binary)
        guard half.isComplete else {
            self.state = .collecting(half)
            return nil
        }
        return try half.body.packet(half.text, attachments: half.attachments)
    }

    /// Forgets a half packet.
    mutating func reset() { self.state = .idle }

    private var tooLarge: SocketIOProtocolError {
        let limit = self.limits.maximumMessageBytes
        return SocketIOProtocolError(
            .tooLarge, "a message is larger than the \(limit) bytes that are accepted here")
    }
}

/// A binary packet whose attachments are still coming.
private struct HalfPacket: Sendable {
    let body: SocketIOBody
    let text: ArraySlice<UInt8>
    private(set) var attachments: [ArraySlice<UInt8>] = []
    private(set) var byteCount: Int

    init(body: SocketIOBody, text: ArraySlice<UInt8>) {
        self.body = body
        self.text = text.detached()
        self.byteCount = text.count
    }

    var isComplete: Bool { self.attachments.count == self.body.header.attachments }

    mutating func append(_ attachment: ArraySlice<UInt8>) {
        self.attachments.append(attachment.detached())
        self.byteCount += attachment.count
    }
}
