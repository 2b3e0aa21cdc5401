internal import LinkspanTesting
@testable internal import LinkspanWebSocketProtocol
internal import Testing

@Suite("Compressed messages")
struct CompressedMessageTests {
    private static let hello = FrameDecoder.Incoming.text(Array("Hello".utf8)[...])

    struct Example: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var bytes: [UInt8]
        var texts: [String]

        init(_ name: String, _ hex: String, _ texts: String...) {
            self.testDescription = name
            self.bytes = Wire.bytes(hex)
            self.texts = texts
        }
    }

    /// RFC 7692 section 7.2.3, and what is like it.
    static let examples: [Example] = [
        Example("one block", "c1 07 f2 48 cd c9 c9 07 00", "Hello"),
        Example("one block in two fragments", "41 03 f2 48 cd 80 04 c9 c9 07 00", "Hello"),
        Example("a shared window", "c1 07 f2 48 cd c9 c9 07 00 c1 05 f2 00 11 00 00", "Hello", "Hello"),
        Example("a block without compression", "c1 0b 00 05 00 fa ff 48 65 6c 6c 6f 00", "Hello"),
        Example("a last block", "c1 08 f3 48 cd c9 c9 07 00 00", "Hello"),
        Example("two blocks", "c1 0d f2 48 05 00 00 00 ff ff ca c9 c9 07 00", "Hello"),
        Example("an empty message", "c1 01 00", ""),
        Example("an empty last fragment", "41 07 f2 48 cd c9 c9 07 00 80 00", "Hello"),
        Example("empty fragments on all sides", "41 00 00 00 00 07 f2 48 cd c9 c9 07 00 80 00", "Hello"),
        Example("a last block and nothing behind it", "c1 07 f3 48 cd c9 c9 07 00", "Hello"),
        Example(
            "a last block, then further messages",
            "c1 07 f3 48 cd c9 c9 07 00 c1 00 c1 07 f2 48 cd c9 c9 07 00 c1 08 f3 48 cd c9 c9 07 00 00",
            "Hello", "", "Hello", "Hello"),
        Example("no bytes at all, between others", "c1 00 c1 07 f2 48 cd c9 c9 07 00 c1 00", "", "Hello", ""),
        Example(
            "plain ones between", "81 01 61 c1 07 f2 48 cd c9 c9 07 00 01 01 62 80 01 63 c1 05 f2 00 11 00 00",
            "a", "Hello", "bc", "Hello"),
    ]

    @Test(arguments: examples)
    func `are read as RFC 7692 says, in one chunk, byte by byte, and by a server`(example: Example) throws {
        let expected = example.texts.map { FrameDecoder.Incoming.text(Array($0.utf8)[...]) }
        let agreement = CompressionAgreement()
        var whole = FrameDecoder(role: .client, compression: agreement)
        #expect(whole.drain([example.bytes[...]]) == Drained(incoming: expected))
        var bytewise = FrameDecoder(role: .client, compression: agreement)
        #expect(bytewise.drain(example.bytes.indices.map { example.bytes[$0...$0] }) == Drained(incoming: expected))
        var server = FrameDecoder(role: .server, compression: agreement)
        let masked = Self.masked(example.bytes)
        #expect(server.drain(masked.indices.map { masked[$0...$0] }) == Drained(incoming: expected))
    }

    @Test
    func `control frames stand between the fragments of one`() throws {
        var decoder = FrameDecoder(role: .client, compression: .init())
        let drained = decoder.drain([Wire.bytes("41 03 f2 48 cd 89 01 70 80 04 c9 c9 07 00")[...]])
        #expect(drained == Drained(incoming: [.ping([0x70]), Self.hello]))
    }

    @Test
    func `a window is not shared after either end promised not to`() throws {
        let forgetful = CompressionAgreement(serverForgets: true)
        var decoder = FrameDecoder(role: .client, compression: forgetful)
        let drained = decoder.drain([Wire.bytes("c1 07 f2 48 cd c9 c9 07 00 c1 05 f2 00 11 00 00")[...]])
        #expect(drained == Drained(incoming: [Self.hello], error: .invalidCompressedData))
    }

    @Test
    func `are written as RFC 7692 writes them, shorter while the window is shared`() throws {
        func written(_ agreement: CompressionAgreement) -> [[UInt8]] {
            var compressor = MessageCompressor(agreement, role: .client)
            return (0..<2).map { _ in
                var output: [UInt8] = []
                compressor.append(.text, payload: Array("Hello".utf8)[...], mask: nil, to: &output)
                return output
            }
        }
        let (first, second) = (Wire.bytes("c1 07 f2 48 cd c9 c9 07 00"), Wire.bytes("c1 05 f2 00 11 00 00"))
        #expect(written(.init(threshold: 0)) == [first, second])
        // Without a window there is nothing to save in five bytes.
        let plain = Wire.frame(0x81, Array("Hello".utf8))
        #expect(written(.init(clientForgets: true, threshold: 0)) == [plain, plain])
        #expect(written(.init()) == [plain, plain])
        #expect(written(.init(threshold: 6)) == [plain, plain])
    }

    @Test
    func `empty ones are sent as they are`() throws {
        var compressor = MessageCompressor(.init(threshold: 0), role: .client)
        var output: [UInt8] = []
        for _ in 0..<2 { compressor.append(.text, payload: [], mask: nil, to: &output) }
        #expect(output == [0x81, 0, 0x81, 0])
    }

    @Test(arguments: [9, 12, 15], [false, true])
    func `come out as they went in, both ways, in every form of sending, cut anywhere`(
        bits: Int, forgets: Bool
    ) throws {
        let client = CompressionAgreement(clientForgets: forgets, serverForgets: forgets, bits: bits, threshold: 20)
        let server = CompressionAgreement(clientForgets: forgets, serverForgets: forgets, bits: bits, threshold: 1)
        var random = SeededGenerator(seed: 11)
        for role in WebSocketRole.allCases {
            let (mine, other) = role == .client ? (client, server) : (server, client)
            var sender = WebSocketSession(role: role, compression: mine)
            var receiver = WebSocketSession(role: role == .client ? .server : .client, compression: other)
            var (wire, sent, received) = ([UInt8](), [[UInt8]](), [[UInt8]]())
            for round in 0..<40 {
                let payload = Self.payload(round, random: &random)
                sent.append(payload)
                if round.isMultiple(of: 2) {
                    #expect(sender.send(.binary, payload: payload, into: &wire) == true)
                } else {
                    #expect(
                        sender.send(.binary, length: payload.count, into: &wire) { $0.append(contentsOf: payload) }
                            == true)
                }
            }
            var position = 0
            while position < wire.count {
                let end = min(wire.count, position + Int.random(in: 1...5000, using: &random))
                receiver.receive(wire[position..<end])
                var output: [UInt8] = []
                while let event = receiver.next(into: &output) {
                    guard case .binary(let bytes) = event else { Issue.record("\(event)"); return }
                    received.append(Array(bytes))
                }
                position = end
            }
            #expect(received == sent)
            #expect(wire.count < sent.reduce(0) { $0 + $1.count } / 2)
        }
    }

    @Test
    func `a copy of a session goes on by itself`() throws {
        var sender = WebSocketSession(role: .client, compression: .init(threshold: 1))
        var receiver = WebSocketSession(role: .server, compression: .init())
        func exchange(_ text: String, _ sender: inout WebSocketSession, _ receiver: inout WebSocketSession) -> Bool {
            var wire: [UInt8] = []
            _ = sender.send(.text, payload: Array(text.utf8), into: &wire)
            receiver.receive(wire[...])
            return receiver.next(into: &wire) == .text(Array(text.utf8)[...])
        }
        let text = "the same words again and again and again"
        #expect(exchange(text, &sender, &receiver) == true)
        var (otherSender, otherReceiver) = (sender, receiver)
        #expect(exchange("something else entirely, which only one pair hears of", &sender, &receiver) == true)
        #expect(exchange(text, &otherSender, &otherReceiver) == true)
        #expect(exchange(text + text, &sender, &receiver) == true)
        #expect(exchange(text, &otherSender, &otherReceiver) == true)
    }

    @Test
    func `with a window of 8 bits messages are sent uncompressed`() throws {
        let options = WebSocketCompression { $0.threshold = 0 }
        let answer = try WebSocketExtension.parse(["permessage-deflate; client_max_window_bits=8"])
        var compressor = MessageCompressor(try options.agreement(answer: answer[0]), role: .client)
        let payload = [UInt8](repeating: 7, count: 100)
        var output: [UInt8] = []
        compressor.append(.binary, payload: payload[...], mask: nil, to: &output)
        #expect(output == Wire.frame(0x82, payload))
    }

    /// From nothing to 40,000 bytes, some of which repeat and some do not.
    private static func payload(_ round: Int, random: inout SeededGenerator) -> [UInt8] {
        switch round % 4 {
        case 0: [UInt8](repeating: UInt8(round), count: round * 1000)
        case 1: random.bytes(round * 10)
        case 2: (0..<(round * 500)).map { _ in UInt8.random(in: 0...3, using: &random) }
        default: Array("a message like the one before it".utf8)
        }
    }

    /// The same frames, all of which are short, as a client sends them.
    private static func masked(_ bytes: [UInt8]) -> [UInt8] {
        var (output, position) = ([UInt8](), 0)
        while position < bytes.count {
            let end = position + 2 + Int(bytes[position + 1])
            output += Wire.frame(bytes[position], Array(bytes[(position + 2)..<end]), mask: [1, 2, 3, 4])
            position = end
        }
        return output
    }

    @Test
    func `are not decompressed once a session has said goodbye, and its end is still heard`() throws {
        var session = WebSocketSession(role: .client, compression: CompressionAgreement())
        var output: [UInt8] = []
        session.receive(Wire.bytes("41 03 f2 48 cd")[...])
        _ = session.next(into: &output)
        let before = session.inflatedBytes
        _ = session.close(into: &output)
        session.receive(Wire.bytes("80 04 c9 c9 07 00 c1 05 f2 00 11 00 00 c1 02 ff ff 88 02 03 e8")[...])
        guard case .closed(let end, _)? = session.next(into: &output) else {
            Issue.record("no end")
            return
        }
        #expect(end.violation == nil && end.code == .normal)
        #expect(session.inflatedBytes == before)
    }
}
