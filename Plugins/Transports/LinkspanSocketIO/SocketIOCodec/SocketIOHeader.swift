/// The part of a Socket.IO packet before the JSON: `<type>[<attachments>-][<namespace>,][<id>]`.
struct SocketIOHeader: Sendable, Hashable {
    var kind: SocketIOCodecPacket.Kind
    /// The number of announced attachments.
    ///
    /// A binary packet with none is a plain one (CVE-2026-69185).
    var attachments = 0
    /// The range of the namespace, without the comma; empty for `/`.
    var namespace: Range<Int> = 0..<0
    /// The acknowledgement id.
    var id: UInt64?
    /// The start of the JSON; the text's end when there is none.
    var payloadStart: Int

    /// Reads the header of a packet, whose text begins behind the Engine.IO type.
    @inline(__always)
    init(_ text: UnsafeBufferPointer<UInt8>, maximumAttachments: Int) throws(SocketIOProtocolError) {
        // BINARY_EVENT and BINARY_ACK are three above their plain forms.
        let number = (text.first ?? 0) &- UInt8(ascii: "0")
        let isBinary = number == 5 || number == 6
        guard let kind = SocketIOCodecPacket.Kind(rawValue: isBinary ? number &- 3 : number) else {
            throw SocketIOProtocolError(.unknownType, "a Socket.IO packet has an unknown type")
        }
        self.kind = kind
        var position = 1
        if isBinary {
            self.attachments = try Self.attachments(text, &position, most: maximumAttachments)
        }
        if position < text.count, text[position] == UInt8(ascii: "/") {
            let start = position
            while position < text.count, text[position] != UInt8(ascii: ",") { position &+= 1 }
            // "/" alone is the main namespace, spelled out.
            self.namespace = position &- start == 1 ? 0..<0 : start..<position
            if position < text.count { position &+= 1 }
        }
        self.id = try Self.number(text, &position)
        self.payloadStart = position
    }

    /// Reads digits up to the first other byte; nil when there is no digit.
    ///
    /// Leading zeros are allowed, as in the reference. What does not fit 64 bits is refused: the reference rounds it to
    /// a floating-point number and would then answer another id.
    @inline(__always)
    private static func number(
        _ text: UnsafeBufferPointer<UInt8>, _ position: inout Int
    ) throws(SocketIOProtocolError) -> UInt64? {
        let start = position
        var value: UInt64 = 0
        while position < text.count {
            let digit = text[position] &- UInt8(ascii: "0")
            guard digit < 10 else { break }
            let (product, overflowed) = value.multipliedReportingOverflow(by: 10)
            let (sum, overflowedToo) = product.addingReportingOverflow(UInt64(digit))
            guard !overflowed, !overflowedToo else {
                throw SocketIOProtocolError(.badAckID, "an acknowledgement id does not fit 64 bits")
            }
            value = sum
            position &+= 1
        }
        return position > start ? value : nil
    }

    /// Reads `<n>-`.
    ///
    /// A leading zero is refused, since no known peer writes one, and so is a missing number.
    private static func attachments(
        _ text: UnsafeBufferPointer<UInt8>, _ position: inout Int, most: Int
    ) throws(SocketIOProtocolError) -> Int {
        let start = position
        var value = 0
        while position < text.count, text[position] &- UInt8(ascii: "0") < 10 {
            value = value &* 10 &+ Int(text[position] &- UInt8(ascii: "0"))
            position &+= 1
            // Checked at each digit, so that the sum cannot overflow.
            guard value <= most else {
                throw SocketIOProtocolError(
                    .badAttachments, "a packet announces more attachments than the \(most) that are accepted here")
            }
        }
        let hasLeadingZero = position &- start > 1 && text[start] == UInt8(ascii: "0")
        guard position > start, !hasLeadingZero, position < text.count, text[position] == UInt8(ascii: "-") else {
            throw SocketIOProtocolError(.badAttachments, "a packet's count of attachments is malformed")
        }
        position &+= 1
        return value
    }
}
