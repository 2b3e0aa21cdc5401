internal import Linkspan
internal import LinkspanNetwork
internal import Testing

@testable import LinkspanSocketIO

@Suite("Payloads of polls")
struct PollingPayloadTests {
    private static func texts(_ packets: String...) -> [WebSocketMessage] { packets.map { .text(bytes($0)) } }

    private static func code(_ body: [UInt8], _ decode: (ArraySlice<UInt8>) throws -> Any) -> SocketIOProtocolError
        .Code?
    {
        do {
            _ = try decode(body[...])
            return nil
        } catch {
            return (error as? SocketIOProtocolError)?.code
        }
    }

    @Test
    func `packets stand one behind another with U+001E between them, binary as base64 (E22, E23)`() throws {
        #expect(try PollingPayload.decode(bytes("40")) == Self.texts("40"))
        let body = "451-[\"a\",{\"_placeholder\":true,\"num\":0}]\u{1E}bAAEC/w==\u{1E}2"
        let packets = try PollingPayload.decode(bytes(body))
        #expect(
            packets == [
                .text(bytes("451-[\"a\",{\"_placeholder\":true,\"num\":0}]")), .binary([0, 1, 2, 255]),
                .text(bytes("2")),
            ])
        var written: [UInt8] = []
        PollingPayload.append(packets, to: &written)
        #expect(text(written) == body)
        #expect(packets.map(PollingPayload.length).reduce(0, +) == written.count + 1)
    }

    @Test(arguments: ["bAAE", "b====", "bA===", "bAAEC/x==", "bAA EC", "\u{1E}b!"])
    func `a body that is no payload is refused`(body: String) {
        #expect(Self.code(Array(body.utf8), PollingPayload.decode) == .badPolling)
    }

    @Test
    func `a body has to be UTF-8`() {
        #expect(Self.code([0x34, 0xFF], PollingPayload.decode) == .badPolling)
        #expect(Self.code(Array("2:4".utf8) + [0xC3], LegacyPollingPayload.decode) == .badPolling)
    }

    @Test
    func `base64 goes both ways for every length`() throws {
        for count in 0..<40 {
            let blob = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ count) }
            var written: [UInt8] = []
            PollingPayload.append([.binary(blob[...])], to: &written)
            #expect(try PollingPayload.decode(written[...]) == [.binary(blob[...])])
        }
    }

    @Test
    func `in version 3 each packet has its length in UTF-16 units in front (C02)`() throws {
        let packets = try LegacyPollingPayload.decode(bytes("2:406:42[\"é\"]".replacing("6:", with: "7:")))
        #expect(packets == Self.texts("40", "42[\"é\"]"))
        #expect(try LegacyPollingPayload.decode(bytes("8:42[\"😀\"]")) == Self.texts("42[\"😀\"]"))
        #expect(try LegacyPollingPayload.decode(bytes("10:b4AAEC/w==")) == [.binary([0, 1, 2, 255])])
        var written: [UInt8] = []
        LegacyPollingPayload.append([.text(bytes("42[\"é😀\"]")), .binary([0, 1, 2, 255])], to: &written)
        #expect(text(written) == "9:42[\"é😀\"]10:b4AAEC/w==")
    }

    @Test
    func `in version 3 a body may be bytes: kind, digits, 255, packet (C02)`() throws {
        let body: [UInt8] = [0, 2, 255] + Array("40".utf8) + [1, 1, 1, 255, 4] + Array(0..<10)
        #expect(try LegacyPollingPayload.decode(body[...]) == [.text(bytes("40")), .binary(Array(0..<10)[...])])
    }

    @Test
    func `in version 3 no packet keeps the whole body`() throws {
        let inText = try LegacyPollingPayload.decode(bytes("2:407:42[\"é\"]"))
        let body: [UInt8] = [0, 2, 255] + Array("40".utf8) + [1, 1, 1, 255, 4] + Array(0..<10)
        for packet in inText + (try LegacyPollingPayload.decode(body[...])) {
            switch packet {
            // A part of the body would have its place in it.
            case .text(let bytes), .binary(let bytes): #expect(bytes.startIndex == 0)
            }
        }
    }

    @Test(arguments: ["", "x", "3:40", "1:40", "-1:4", "2", "2:", ":40", "99999999999:4", "1:😀", "7:b5AAEC"])
    func `a body of version 3 with a wrong length is refused`(body: String) {
        #expect(Self.code(Array(body.utf8), LegacyPollingPayload.decode) == .badPolling)
    }

    @Test(
        arguments: [[0], [0, 255], [0, 1], [0, 2, 255, 0x34], [0, 10, 255], [2, 1, 255, 0x34], [1, 1, 255, 5]]
            as [[UInt8]])
    func `bytes of version 3 with a wrong length are refused`(body: [UInt8]) {
        #expect(Self.code(body, LegacyPollingPayload.decode) == .badPolling)
    }

    @Test
    func `the first answer of a server of version 3 is known by its look`() {
        #expect(LegacyPollingPayload.isHandshake(bytes("97:0{\"sid\":\"x\"}2:40")))
        #expect(LegacyPollingPayload.isHandshake([0, 9, 7, 255, 0x30]))
        for body in ["0{\"sid\":\"x\"}", "40", "97:1", "", "<html>"] {
            #expect(!LegacyPollingPayload.isHandshake(bytes(body)))
        }
    }
}
