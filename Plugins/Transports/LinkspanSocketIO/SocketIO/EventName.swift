internal import Linkspan

/// The name of the latest event: the next one mostly has the same, and need not be made of its bytes again.
struct EventName: Sendable {
    /// As it is written in a packet, quotes included.
    private var written: [UInt8] = []
    private var name = ""

    /// The name that stands in a packet's text.
    @inline(__always)
    mutating func name(_ text: ArraySlice<UInt8>, _ range: Range<Int>) throws(SocketIOProtocolError) -> String {
        if !self.isSame(text, range) { try self.change(text, range) }
        return self.name
    }

    @inline(__always)
    private func isSame(_ text: ArraySlice<UInt8>, _ range: Range<Int>) -> Bool {
        guard range.count == self.written.count else { return false }
        return text.withUnsafeBufferPointer { text in
            self.written.withUnsafeBufferPointer { written in
                var index = 0
                while index < written.count, written[index] == text[range.lowerBound &+ index] { index &+= 1 }
                return index == written.count
            }
        }
    }

    private mutating func change(_ text: ArraySlice<UInt8>, _ range: Range<Int>) throws(SocketIOProtocolError) {
        self.name = try Self.read(text, range)
        self.written.removeAll(keepingCapacity: true)
        text.withUnsafeBufferPointer { self.written.append(contentsOf: $0[range]) }
    }

    /// Makes the name of its bytes; its escapes are resolved only when it has some.
    static func read(_ text: ArraySlice<UInt8>, _ range: Range<Int>) throws(SocketIOProtocolError) -> String {
        let name: String = text.withUnsafeBufferPointer { bytes in
            let written = UnsafeBufferPointer(rebasing: bytes[range])
            guard written.first == UInt8(ascii: "\"") else { return String(decoding: written, as: UTF8.self) }
            let inside = UnsafeBufferPointer(rebasing: written.dropFirst().dropLast())
            return inside.contains(UInt8(ascii: "\\"))
                ? Payload(trustedElements: Array(written)[...])[0]?.string ?? ""
                : String(decoding: inside, as: UTF8.self)
        }
        guard !ReservedEvent.contains(name) else {
            throw SocketIOProtocolError(.reservedEvent, "an event has a name that the protocol keeps for itself")
        }
        return name
    }
}
