internal import Linkspan
@testable internal import LinkspanNetwork
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
        // A length of ten in one digit.
        #expect(Self.code([0, 10, 255] + Array("4123456789".utf8), LegacyPollingPayload.decode) == .badPolling)
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
    func `in version 3 a body of bytes may begin with a binary packet`() throws {
        let body: [UInt8] = [1, 2, 255, 4, 7, 0, 2, 255] + Array("40".utf8)
        #expect(try LegacyPollingPayload.decode(body[...]) == [.binary([7]), .text(bytes("40"))])
    }

    @Test(arguments: [9, 10])
    func `in version 3 a length has at most nine digits`(count: Int) throws {
        let length = Array(repeating: UInt8(0), count: count - 1) + [2]
        let body = length.map { UInt8(ascii: "0") + $0 } + Array(":40".utf8)
        for body in [body, [0] + length + [255] + Array("40".utf8)] {
            if count == 9 {
                #expect(try LegacyPollingPayload.decode(body[...]) == Self.texts("40"))
            } else {
                #expect(Self.code(body, LegacyPollingPayload.decode) == .badPolling)
            }
        }
    }

    @Test(arguments: [0, 1, 2, 3, 70, 1_000])
    func `in version 3 the length of a packet is what it takes in a body`(count: Int) {
        let content = [UInt8](repeating: 0x61, count: count)[...]
        for packet in [WebSocketMessage.text(content), .binary(content)] {
            var body: [UInt8] = []
            LegacyPollingPayload.append([packet], to: &body)
            #expect(LegacyPollingPayload.length(of: packet) == body.count)
        }
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

@Suite("Answers to polls and posts")
struct PollingAnswerTests {
    private static func error(
        _ status: Int, body: String = "", retryAfter: Duration? = nil, isFirst: Bool
    ) -> LinkspanError? {
        let fields = retryAfter.map { ["retry-after": ["\($0.components.seconds)"]] } ?? [:]
        let answer = HTTPAnswer(head: ResponseHead(status: status, fields: fields), body: Array(body.utf8))
        do throws(LinkspanError) {
            _ = try PollingAnswer.body(of: .success(answer), isFirst: isFirst)
            return nil
        } catch {
            return error
        }
    }

    @Test(
        arguments: [
            (200, nil),
            (300, .connectionLost), (301, .connectionLost), (302, .connectionLost), (307, .connectionLost),
            (399, .connectionLost), (400, .connectionLost), (401, .credentialsRefused), (403, .connectionLost),
            (404, .connectionLost), (405, .connectionLost), (407, .credentialsRefused), (410, .connectionLost),
            (413, .messageRefused), (426, .connectionLost), (429, .serverUnavailable), (500, .serverUnavailable),
            (503, .serverUnavailable),
        ] as [(Int, LinkspanError.Code?)])
    func `in an open session a refusal is the loss of the session`(_ status: Int, _ code: LinkspanError.Code?) {
        #expect(Self.error(status, isFirst: false)?.code == code)
    }

    @Test(
        arguments: [
            (302, .redirected), (400, .refused), (403, .refused), (404, .refused), (405, .refused), (410, .refused),
            (426, .unsupportedVersion),
        ] as [(Int, LinkspanError.Code)])
    func `in the handshake the same refusals are final`(_ status: Int, _ code: LinkspanError.Code) {
        #expect(Self.error(status, isFirst: true)?.code == code)
    }

    @Test(arguments: [302, 403, 405, 410, 426])
    func `the loss names the status, and keeps to the time that was asked for`(_ status: Int) throws {
        let error = try #require(Self.error(status, retryAfter: .seconds(7), isFirst: false))
        #expect(error.message.contains("status \(status)"))
        #expect((error.cause as? ByteStreamError)?.status == status)
        #expect(error.retryAfter == .seconds(7))
    }

    @Test
    func `an unknown session is lost, whatever the server says of it`() {
        let bodies = [
            "", #"{"code":1,"message":"Session ID unknown"}"#, #"{"code":5,"message":"unsupported version"}"#,
        ]
        for body in bodies {
            #expect(Self.error(400, body: body, isFirst: false)?.code == .connectionLost)
        }
    }
}

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
