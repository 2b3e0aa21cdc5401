internal import Linkspan

/// The head of the latest event: the next one mostly begins with the same bytes, and then only its arguments are read.
// Inlined into the session, which saves a hundredth of a message (W1).
struct LatestEvent: Sendable {
    /// The frame up to the end of the event's name; empty before the first event.
    private var head: [UInt8] = []
    private var name = ""
    /// The index of the namespace that the head names.
    private(set) var namespace = 0

    /// Remembers an event that wants no reply and has no attachments.
    mutating func note(_ name: String, head: ArraySlice<UInt8>, namespace: Int) {
        self.head.removeAll(keepingCapacity: true)
        self.head.append(contentsOf: head)
        self.name = name
        self.namespace = namespace
    }

    /// The event of a frame that begins in the same way.
    ///
    /// Nil when it begins in another, or when its arguments are not acceptable: then it is read as any packet is, which says
    /// what is wrong.
    @inline(__always)
    func event(in frame: ArraySlice<UInt8>) -> InboundMessage? {
        let arguments = frame.withUnsafeBufferPointer { self.arguments(of: $0) }
        guard let arguments else { return nil }
        guard arguments.start < arguments.end else { return InboundMessage(event: self.name, payload: .empty) }
        let elements = frame.arguments(arguments.start..<arguments.end)
        let firstCount = arguments.firstEnd &- arguments.start
        return InboundMessage(event: self.name, payload: Payload(trustedElements: elements, firstCount: firstCount))
    }

    /// The range of the arguments in a frame that begins with the head.
    @inline(__always)
    private func arguments(of frame: UnsafeBufferPointer<UInt8>) -> (start: Int, firstEnd: Int, end: Int)? {
        let start = self.head.count
        guard start > 0, frame.count > start, self.isHead(of: frame) else { return nil }
        guard frame[start] == UInt8(ascii: ",") else {
            return frame[start] == UInt8(ascii: "]") && frame.count == start &+ 1 ? (start, start, start) : nil
        }
        // The array and the name are values, too.
        var scanner = JSONScanner(maximumValues: JSONScanner.maximumValues - 2)
        let first = JSONScanner.skipSpace(frame, from: start &+ 1)
        guard let end = try? scanner.skipValue(frame, from: first, inArrays: 1), end == frame.count else { return nil }
        // Space behind the last argument does not belong to the arguments.
        guard frame[end &- 2] > 0x20, let firstEnd = scanner.firstEnd else { return nil }
        return (first, firstEnd, end &- 1)
    }

    private func isHead(of frame: UnsafeBufferPointer<UInt8>) -> Bool {
        self.head.withUnsafeBufferPointer { head in
            var index = 0
            while index < head.count, head[index] == frame[index] { index &+= 1 }
            return index == head.count
        }
    }
}
