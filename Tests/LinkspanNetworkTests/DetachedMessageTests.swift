internal import LinkspanNetwork
internal import Testing

@Suite struct DetachedMessageTests {
    private static func storage(_ message: WebSocketMessage) -> UnsafeRawPointer? {
        switch message {
        case .text(let bytes), .binary(let bytes): bytes.withUnsafeBytes { $0.baseAddress }
        }
    }

    @Test("a small message of a large read has memory of its own, a large one or one of a small read shares the read's")
    func memory() {
        let read = [UInt8](repeating: 0x61, count: 64 * 1024)
        let small = WebSocketMessage.text(read[100..<164])
        let detached = small.detached(fromReadOf: read.count)
        #expect(detached == small)
        #expect(Self.storage(detached) != Self.storage(small))
        let large = WebSocketMessage.binary(read[..<(40 * 1024)])
        #expect(Self.storage(large.detached(fromReadOf: read.count)) == Self.storage(large))
        #expect(Self.storage(small.detached(fromReadOf: 128)) == Self.storage(small))
    }
}
