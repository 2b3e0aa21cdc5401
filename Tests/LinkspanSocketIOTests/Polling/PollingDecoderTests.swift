internal import Linkspan
internal import LinkspanNetwork
internal import Testing

@testable import LinkspanSocketIO

@Suite("Bodies of polls that come in parts")
struct PollingDecoderTests {
    /// What a decoder makes of a body that comes in parts of so many bytes.
    private static func decode(
        _ body: [UInt8], parts size: Int, version: EngineIOVersion = .v4, maximum: Int = 1 << 20
    ) throws(SocketIOProtocolError) -> [WebSocketMessage] {
        var decoder = PollingDecoder(version: version, maximumBytes: maximum)
        var packets: [WebSocketMessage] = []
        var rest = body[...]
        while !rest.isEmpty {
            packets += try decoder.receive(Array(rest.prefix(size)))
            rest = rest.dropFirst(size)
        }
        return packets + (try decoder.finish())
    }

    private static func code(_ body: [UInt8], parts size: Int, maximum: Int = 1 << 20) -> SocketIOProtocolError.Code? {
        do throws(SocketIOProtocolError) {
            _ = try Self.decode(body, parts: size, maximum: maximum)
            return nil
        } catch {
            return error.code
        }
    }

    @Test(arguments: [1, 2, 3, 7, 65_536, 100_000])
    func `have the packets that they have as a whole, wherever they are cut`(size: Int) throws {
        for length in [0, 1, 2, 3, 49_149, 49_150, 49_151, 100_000] {
            let packets: [WebSocketMessage] = [
                .text(bytes("42[\"é😀\"]")), .binary(Array((0..<length).map { UInt8(truncatingIfNeeded: $0) })[...]),
                .text(bytes("2")), .text(Array(repeating: UInt8(ascii: "x"), count: length + 1)[...]),
            ]
            var body: [UInt8] = []
            PollingPayload.append(packets, to: &body)
            #expect(try Self.decode(body, parts: size) == packets)
        }
    }

    @Test
    func `may be empty, or end in a separator: then a packet is empty`() throws {
        #expect(try Self.decode([], parts: 1) == [.text([])])
        #expect(try Self.decode([0x32, 0x1E], parts: 1) == [.text(bytes("2")), .text([])])
    }

    @Test(arguments: [1, 100])
    func `of version 3 are gathered`(size: Int) throws {
        let body = Array("8:42[\"😀\"]1:2".utf8)
        #expect(try Self.decode(body, parts: size, version: .v3) == [.text(bytes("42[\"😀\"]")), .text(bytes("2"))])
    }

    @Test(arguments: [1000, 65_536, 1 << 20])
    func `are refused where base64 or UTF-8 is broken, in long packets too`(size: Int) {
        let long = Array(repeating: UInt8(ascii: "A"), count: 200_000)
        #expect(Self.code([UInt8(ascii: "b")] + long + Array("=AAA".utf8), parts: size) == .badPolling)
        #expect(Self.code([UInt8(ascii: "b")] + long + Array("AA==".utf8) + long, parts: size) == .badPolling)
        #expect(Self.code([UInt8(ascii: "b")] + long + Array("A".utf8), parts: size) == .badPolling)
        #expect(Self.code([UInt8(ascii: "4")] + long + [0xFF], parts: size) == .badPolling)
        #expect(Self.code([UInt8(ascii: "b")] + long + Array("AA==".utf8), parts: size) == nil)
    }

    @Test
    func `may have packets up to the limit, however many`() {
        let packet = Array(repeating: UInt8(ascii: "4"), count: 1000)
        let binary = [UInt8(ascii: "b")] + Array(repeating: UInt8(ascii: "A"), count: 4 * 66_667)
        #expect(
            Self.code(
                Array(repeating: packet, count: 100).joined(separator: [0x1E]).map { $0 }, parts: 10, maximum: 1000)
                == nil)
        #expect(Self.code(packet + [0x34], parts: 10, maximum: 1000) == .tooLarge)
        #expect(Self.code(binary, parts: 1000, maximum: 3 * 66_667) == nil)
        #expect(Self.code(binary, parts: 1000, maximum: 3 * 66_667 - 1) == .tooLarge)
    }
}
