internal import LinkspanNetwork
internal import LinkspanWebSocketProtocol

/// Takes the packets out of one body while it comes, so that no more is kept than the packet that is not complete.
///
/// A body as a whole would have to be kept in full, and its packets beside it: a third more for base64, and many times
/// that for packets of a byte each. Bodies of version 3 are gathered all the same.
struct PollingDecoder: Sendable {
    private let version: EngineIOVersion
    private let maximumBytes: Int
    /// The packet that is not complete, as far as it came.
    private var text: [UInt8] = []

    /// Makes a decoder for one body.
    ///
    /// - Parameters:
    ///   - version: how it is written.
    ///   - maximumBytes: the most bytes of one packet, for one that comes in parts.
    init(version: EngineIOVersion, maximumBytes: Int) {
        self.version = version
        self.maximumBytes = maximumBytes
    }

    /// Whether a packet has begun to come and is not complete.
    var hasPart: Bool { !self.text.isEmpty }

    /// Takes a part of the body; the packets that are complete with it may be slices of it.
    mutating func receive(_ part: [UInt8]) throws(SocketIOProtocolError) -> [WebSocketMessage] {
        guard self.version == .v4 else {
            // Less than twice as long as the bytes of its packets, which are judged when they are taken out.
            self.text.makeRoom(for: part.count, most: 2 * self.maximumBytes)
            self.text.append(contentsOf: part)
            return []
        }
        var packets: [WebSocketMessage] = []
        var rest = part[...]
        while let end = rest.firstIndex(of: PollingPayload.separator) {
            packets.append(try self.complete(rest[..<end]))
            rest = rest[(end + 1)...]
        }
        try self.keep(rest)
        return packets
    }

    /// Takes the end of the body.
    mutating func finish() throws(SocketIOProtocolError) -> [WebSocketMessage] {
        guard self.version == .v4 else {
            defer { self.text = [] }
            return try LegacyPollingPayload.decode(self.text[...])
        }
        return [try self.complete([])]
    }

    /// A packet ends with these bytes.
    private mutating func complete(_ end: ArraySlice<UInt8>) throws(SocketIOProtocolError) -> WebSocketMessage {
        guard self.hasPart else { return try PollingPayload.packet(end) }
        try self.keep(end)
        defer { self.text = [] }
        let packet = try PollingPayload.packet(self.text[...])
        guard packet.bytes.count <= self.maximumBytes else { throw self.tooLarge }
        return packet
    }

    private mutating func keep(_ part: ArraySlice<UInt8>) throws(SocketIOProtocolError) {
        let isBinary = (self.text.first ?? part.first) == PollingPayload.binary
        let most = isBinary ? PollingPayload.length(ofBinary: self.maximumBytes) : self.maximumBytes
        guard part.count <= most - self.text.count else { throw self.tooLarge }
        self.text.makeRoom(for: part.count, most: most)
        self.text.append(contentsOf: part)
    }

    private var tooLarge: SocketIOProtocolError {
        SocketIOProtocolError(
            .tooLarge, "a packet of a poll is larger than the \(self.maximumBytes) bytes that are accepted here")
    }
}
