@testable internal import LinkspanWebSocketProtocol
internal import Testing

@Suite("Memory of a message that comes in parts")
struct RoomTests {
    /// What an array takes beyond the bytes asked for.
    private static let rounding = 64

    @Test
    func `a copy that is left behind while it grows is an eighth of the limit at most, however long the parts are`() {
        let most = 32_768
        for size in 1...most / 8 {
            let part = [UInt8](repeating: 1, count: size)
            var bytes: [UInt8] = []
            var largest = 0
            while bytes.count + size <= most {
                let old = bytes.capacity
                bytes.makeRoom(for: size, most: most)
                if bytes.capacity != old { largest = max(largest, old) }
                bytes.append(contentsOf: part)
            }
            #expect(largest <= most / 8 + Self.rounding, "parts of \(size) bytes")
            #expect(bytes.capacity <= most + Self.rounding)
        }
    }

    @Test
    func `there is at most eight times as much of it as arrived`() {
        for count in [1, 7, 100, 4_095, 65_536, 999_999] {
            var bytes: [UInt8] = []
            bytes.makeRoom(for: count, most: 16 << 20)
            #expect((count...8 * count + Self.rounding).contains(bytes.capacity))
        }
    }

    @Test
    func `a part beyond the limit has room, because its taker judges it`() {
        var bytes: [UInt8] = [1, 2, 3]
        bytes.makeRoom(for: 1_000, most: 100)
        #expect((1_003...1_003 + Self.rounding).contains(bytes.capacity))
        bytes.makeRoom(for: 0, most: 100)
        #expect(bytes == [1, 2, 3])
    }
}
