import Linkspan
import LinkspanNetwork
import LinkspanTesting
import Testing

@testable import LinkspanSocketIO

@Suite("MessagePack")
struct MessagePackCodecTests {
    private func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.filter { $0 != " " }
        return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(digits.dropFirst($0).prefix(2), radix: 16) }
    }

    private func decode(_ bytes: [UInt8]) throws -> SocketIOCodecPacket {
        var decoder = MessagePackCodec().makeDecoder(maximumBytes: 1_000)
        return try #require(try decoder.decode(.binary(bytes[...])))
    }

    private func encode(_ packet: SocketIOCodecPacket) throws -> [UInt8] {
        guard case .binary(let bytes) = try MessagePackCodec().encode(packet).first else { return [] }
        return Array(bytes)
    }

    /// An event whose only argument is what `hex` means.
    private func json(_ hex: String) throws -> String {
        let head = self.bytes("83 a4 74797065 02 a3 6e7370 a1 2f a4 64617461 92 a1 65")
        return String(decoding: try self.decode(head + self.bytes(hex)).payload.elements, as: UTF8.self)
    }

    // The packets of the tests of socket.io-msgpack-parser 3.0.2; notepack.io writes `undefined` as an extension of type 0.
    @Test(arguments: [
        ("84 a474797065 00 a464617461 d40000 a76f7074696f6e73 d40000 a36e7370 a12f", "connect"),
        ("83 a474797065 00 a464617461 81 a5746f6b656e a3616263 a36e7370 a52f63686174", #"connect {"token":"abc"}"#),
        ("84 a474797065 02 a464617461 91 a568656c6c6f a26964 d40000 a36e7370 a12f", "event hello"),
        (
            "83 a474797065 02 a464617461 94 a662696e617279 90 81a161a162 c4086173646661736466 a36e7370 a12f",
            #"event binary [],{"a":"b"},{"_placeholder":true,"num":0} + 8"#
        ),
        (
            "84 a474797065 02 a464617461 92 a361636b a87175657374696f6e a26964 00 a36e7370 a12f",
            #"event ack 0 "question""#
        ),
        ("84 a474797065 03 a464617461 91 2a a26964 cc 80 a36e7370 a12f", "acknowledgement 128 42"),
        ("83 a474797065 04 a464617461 81 a76d657373616765 a26e6f a36e7370 a12f", #"connectError {"message":"no"}"#),
        ("82 a474797065 01 a36e7370 a12f", "disconnect"),
    ])
    func `packets of the official parser are read`(_ hex: String, _ meaning: String) throws {
        let packet = try self.decode(self.bytes(hex))
        let parts = [
            "\(packet.kind)", packet.event, packet.id.map { "\($0)" } ?? "",
            String(decoding: packet.payload.elements, as: UTF8.self),
            packet.payload.attachments.first.map { "+ \($0.count)" } ?? "",
        ]
        #expect(parts.filter { !$0.isEmpty }.joined(separator: " ") == meaning)
        #expect(packet.namespace == (meaning.contains("token") ? "/chat" : "/"))
    }

    @Test(arguments: ["82", "de 0002", "df 00000002"])
    func `a packet is a map whose size is written in any width`(_ map: String) throws {
        let packet = try self.decode(self.bytes("\(map) a474797065 01 a36e7370 a12f"))
        #expect(packet.kind == .disconnect && packet.namespace == "/")
    }

    @Test(arguments: [
        ("00", "0"), ("7f", "127"), ("ff", "-1"), ("e0", "-32"), ("cc ff", "255"), ("cd ffff", "65535"),
        ("ce ffffffff", "4294967295"), ("cf ffffffffffffffff", "18446744073709551615"), ("d0 80", "-128"),
        ("d1 8000", "-32768"), ("d2 80000000", "-2147483648"), ("d3 8000000000000000", "-9223372036854775808"),
        ("ca 3fc00000", "1.5"), ("cb 3ff8000000000000", "1.5"), ("cb 7ff0000000000000", "null"), ("c0", "null"),
        ("c2", "false"), ("c3", "true"), ("d9 01 61", #""a""#), ("da 0001 61", #""a""#), ("db 00000001 61", #""a""#),
        ("dc 0001 c0", "[null]"), ("dd 00000001 c0", "[null]"), ("de 0001 a161 01", #"{"a":1}"#),
        ("df 00000001 a161 01", #"{"a":1}"#), ("c5 0001 61", #"{"_placeholder":true,"num":0}"#),
        ("a2 220a", #""\"\n""#), ("d4 00 00", "null"),
        ("d7 00 0000000000000000", #""1970-01-01T00:00:00.000Z""#),
        ("d7 00 ffffffffffffffff", #""1969-12-31T23:59:59.999Z""#),
        ("d7 00 0000 019b 7d8b b0f9", #""2026-01-02T07:11:05.465Z""#),
        ("d7 00 0000 e677 d21f dc00", #""+010000-01-01T00:00:00.000Z""#),
        ("d6 ff 65e0f34f", #""2024-02-29T21:12:47.000Z""#),
        ("d7 ff 773593fc 65e0f34f", #""2024-02-29T21:12:47.499Z""#),
        ("c7 0c ff 00000000 ffffffffffffffff", #""1969-12-31T23:59:59.000Z""#),
        ("c7 0c ff 00000000 7fffffffffffffff", "null"),
    ])
    func `each form of a value is read as JSON`(_ hex: String, _ expected: String) throws {
        #expect(try self.json(hex) == expected)
    }

    @Test(arguments: [
        ("", "cut off"), ("90", "no map"), ("80", "type and namespace"), ("81 a474797065 a161", "type and namespace"),
        ("81 a474797065 07", "type and namespace"), ("c4 01 01", "no map"), ("81 a474797065 02", "type and namespace"),
        ("82 a474797065 02 a36e7370 02", "type and namespace"), ("82 a474797065 02 a36e7370 a12f", "valid arguments"),
        ("83 a474797065 02 a36e7370 a12f a464617461 04", "valid arguments"),
        ("83 a474797065 02 a36e7370 a12f a464617461 90", "valid arguments"),
        ("83 a474797065 02 a36e7370 a12f a464617461 91 04", "valid arguments"),
        ("84 a474797065 02 a36e7370 a12f a464617461 91 a161 a26964 a161", "no whole number"),
        ("84 a474797065 02 a36e7370 a12f a464617461 91 a161 a26964 ff", "no whole number"),
        ("82 a474797065 01 a36e7370 a12f 00", "1 bytes follow"), ("81 01 01", "no text"),
        ("81 a161 81 01 01", "no text"),
        ("81 a161 a1ff", "not UTF-8"), ("81 a161 c1", "no type 193"),
        ("81 a161 d5 05 0000", "unknown extension: type 5"),
        ("81 a161 dd ffffffff", "cut off"), ("81 a161 c6 ffffffff", "cut off"),
    ])
    func `what is no packet is refused with its reason`(_ hex: String, _ reason: String) {
        let error = #expect(throws: LinkspanError.self) { try self.decode(self.bytes(hex)) }
        #expect(error?.code == .protocolViolation)
        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
    }

    @Test
    func `a text is no packet, and nesting has a limit`() throws {
        var decoder = MessagePackCodec().makeDecoder(maximumBytes: 1_000)
        #expect(throws: LinkspanError.self) { try decoder.decode(.text(Array("2[]".utf8)[...])) }
        let deep = self.bytes("81 a161") + [UInt8](repeating: 0x91, count: 100_000) + [0xC0]
        #expect(throws: LinkspanError.self) { try self.decode(deep) }
    }

    @Test
    func `what is written is read again, in its shortest form`() throws {
        let numbers = [0, 127, 128, -32, -33, -129, 32_768, -32_769, 2_147_483_648, Int.max, Int.min]
        let payload = try Payload(
            numbers, ["é\n": 1.5, "long": Double(Int.max) * 4], String(repeating: "a", count: 70_000), [true, false],
            [String?.none], [[UInt8]](repeating: [], count: 20))
        for packet in [
            SocketIOCodecPacket(.event, namespace: "/chat", id: 7, event: "say", payload: payload),
            SocketIOCodecPacket(.acknowledgement, id: UInt64(Int32.max) + 1, payload: .empty),
            SocketIOCodecPacket(.connect, payload: try Payload(["token": "abc"])), SocketIOCodecPacket(.disconnect),
        ] {
            let read = try self.decode(try self.encode(packet))
            #expect(read.kind == packet.kind && read.namespace == packet.namespace && read.id == packet.id)
            #expect(read.event == packet.event && read.payload.values.count == packet.payload.values.count)
            #expect(try self.encode(read) == self.encode(packet))
        }
        let short = SocketIOCodecPacket(.event, event: "a", payload: try Payload(-1, 128, "b", [1], ["c": 2]))
        let expected = "83 a474797065 02 a464617461 96 a161 ff d10080 a162 9101 81a16302 a36e7370 a12f"
        #expect(try self.encode(short) == self.bytes(expected))
    }

    @Test
    func `binary values stay in their places`() throws {
        let blobs = [1, 300, 70_000].map { [UInt8](repeating: 7, count: $0)[...] }
        let text = #"{"a":{"_placeholder":true,"num":2}},[{"_placeholder":true,"num":0},{"_placeholder":true,"num":1}]"#
        let payload = try Payload(checking: Array(text.utf8)[...], attachments: blobs)
        let read = try self.decode(try self.encode(SocketIOCodecPacket(.event, event: "a", payload: payload))).payload
        #expect(read[0]?["a"]?.blob == blobs[2])
        #expect(read[1]?[0]?.blob == blobs[0] && read[1]?[1]?.blob == blobs[1])
    }

    @Test
    func `no bytes end the process`() throws {
        var random = SeededGenerator(seed: 2_026)
        let whole = try self.encode(
            SocketIOCodecPacket(
                .event, id: 300, event: "say", payload: try Payload(["a": [1.5, -70_000], "b": []], "é")))
        for _ in 0..<20_000 {
            var bytes = whole
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            bytes.removeLast(Int.random(in: 0...3, using: &random))
            if let packet = try? self.decode(bytes) {
                #expect(
                    (try? Payload(checking: packet.payload.elements, attachments: packet.payload.attachments)) != nil)
            }
        }
    }
}

/// A codec whose packets have several messages.
@Suite("A codec with attachments")
struct SeveralMessagesTests {
    private struct Halves: SocketIOCodec {
        let name = "halves"

        func encode(_ packet: SocketIOCodecPacket) throws(LinkspanError) -> [WebSocketMessage] {
            [.text(bytes("\(packet.kind.rawValue)\(packet.event)")), .binary([1, 2])]
        }

        func makeDecoder(maximumBytes: Int) -> any SocketIOCodecDecoder { Decoder() }

        private struct Decoder: SocketIOCodecDecoder {
            mutating func decode(_ message: WebSocketMessage) throws(LinkspanError) -> SocketIOCodecPacket? {
                SocketIOCodecPacket(
                    .connect, namespace: "/a", payload: Payload(trustedElements: bytes(#"{"sid":"s"}"#)))
            }
        }
    }

    @Test
    func `the messages of a packet leave in their order`() throws {
        let bench = EngineBench(codec: Halves())
        let client = try bench.open("/a")
        bench.say("40")
        bench.send("news", by: client)
        #expect(bench.said.suffix(1) == ["42news"])
    }
}
