internal import LinkspanNetwork
internal import LinkspanWebSocketProtocol

/// Takes the packets out of one body while it comes, so that no more is kept than the packet that is not complete.
///
/// A body as a whole would have to be kept in full, and its packets beside it: a third more for base64, and many times
/// that for packets of a byte each. Bodies of version 3 are gathered all the same.
struct PollingDecoder: Sendable {
    /// The part of a binary packet that is gathered before it is decoded.
    private static let portion = 64 * 1024
    private static let binary = UInt8(ascii: "b")
    private static let padding = UInt8(ascii: "=")

    private let version: EngineIOVersion
    private let maximumBytes: Int
    /// The packet that is not complete, as far as it came and is not decoded.
    private var text: [UInt8] = []
    /// Whether it is a long binary one, and what is decoded of it then.
    private var isDecoding = false
    private var bytes: [UInt8] = []

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
    var hasPart: Bool { !self.text.isEmpty || self.isDecoding }

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
        guard !self.text.isEmpty || self.isDecoding else { return try PollingPayload.packet(end) }
        try self.keep(end)
        defer {
            self.text = []
            self.bytes = []
            self.isDecoding = false
        }
        guard self.isDecoding else { return try PollingPayload.packet(self.text[...]) }
        try self.decode(self.text[...])
        return .binary(self.bytes[...])
    }

    private mutating func keep(_ part: ArraySlice<UInt8>) throws(SocketIOProtocolError) {
        // The text of a binary packet is longer than the packet, and decoded before it grows.
        let isBinary = self.isDecoding || (self.text.first ?? part.first) == Self.binary
        guard isBinary || part.count <= self.maximumBytes - self.text.count else { throw self.tooLarge }
        self.text.makeRoom(for: part.count, most: self.maximumBytes)
        self.text.append(contentsOf: part)
        guard isBinary, self.text.count > Self.portion else { return }
        if !self.isDecoding {
            self.isDecoding = true
            self.text.removeFirst()
        }
        try self.decodeGroups()
    }

    private var tooLarge: SocketIOProtocolError {
        SocketIOProtocolError(
            .tooLarge, "a packet of a poll is larger than the \(self.maximumBytes) bytes that are accepted here")
    }

    /// Decodes all but the last group, which alone may be padded.
    private mutating func decodeGroups() throws(SocketIOProtocolError) {
        let length = (self.text.count - 1) / 4 * 4
        guard length > 0, self.text[length - 1] != Self.padding else { throw PollingPayload.notBase64 }
        try self.decode(self.text[..<length])
        self.text.removeFirst(length)
    }

    private mutating func decode(_ text: ArraySlice<UInt8>) throws(SocketIOProtocolError) {
        guard let decoded = Base64.decode(text) else { throw PollingPayload.notBase64 }
        let room = self.maximumBytes - self.bytes.count
        guard decoded.count <= room else { throw self.tooLarge }
        self.bytes.makeRoom(for: decoded.count, most: self.maximumBytes)
        self.bytes.append(contentsOf: decoded)
    }
}
