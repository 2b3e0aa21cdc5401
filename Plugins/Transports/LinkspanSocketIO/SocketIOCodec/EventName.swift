internal import Linkspan

/// The name of an event as a packet has it.
enum EventName {
    /// Makes the name of its bytes; its escapes are resolved only when it has some.
    static func read(_ text: ArraySlice<UInt8>, _ range: Range<Int>) throws(SocketIOProtocolError) -> String {
        let name: String = text.withUnsafeBufferPointer { bytes in
            let written = UnsafeBufferPointer(rebasing: bytes[range])
            guard written.first == UInt8(ascii: "\"") else { return String(decoding: written, as: UTF8.self) }
            let inside = UnsafeBufferPointer(rebasing: bytes[range.lowerBound &+ 1..<range.upperBound &- 1])
            guard !inside.contains(UInt8(ascii: "\\")) else {
                return Payload(trustedElements: Array(written)[...])[0]?.string ?? ""
            }
            // A short name takes half as long as by `String(decoding:as:)`.
            return String(unsafeUninitializedCapacity: inside.count) { $0.initialize(fromContentsOf: inside) }
        }
        guard !ReservedEvent.contains(name) else {
            throw SocketIOProtocolError(.reservedEvent, "an event has a reserved name")
        }
        return name
    }
}
