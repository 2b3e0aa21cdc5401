internal import Linkspan

/// The name of an event as a packet has it.
enum EventName {
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
            throw SocketIOProtocolError(.reservedEvent, "an event has a reserved name")
        }
        return name
    }
}
