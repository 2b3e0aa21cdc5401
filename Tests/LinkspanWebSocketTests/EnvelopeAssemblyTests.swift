internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanWebSocket
internal import Testing

@Suite("Envelopes with attachments")
struct EnvelopeAssemblyTests {
    /// Each text is an event with two attachments.
    private struct Pairs: EnvelopeCodec {
        let name = "pairs"

        func encode(_ envelope: Envelope, to buffer: inout [UInt8]) throws(LinkspanError) -> EncodedKind { .text }

        func decode(text: ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
            DecodedEnvelope(.event(name: "pair", payload: .empty, id: nil), attachmentCount: 2)
        }

        func decode(binary: ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
            throw LinkspanError(.protocolViolation, "no binary message is due")
        }
    }

    private static func bytes(_ count: Int) -> ArraySlice<UInt8> { [UInt8](repeating: 0x20, count: count)[...] }

    @Test
    func `a message counts against the limit with all its attachments`() throws {
        var assembly = EnvelopeAssembly(codec: Pairs(), maximumBytes: 100)
        for last in [40, 41] {
            #expect(try assembly.receive(.text(Self.bytes(20))) == nil)
            #expect(try assembly.receive(.binary(Self.bytes(40))) == nil)
            #expect(assembly.isCollecting)
            let whole = Result { try assembly.receive(.binary(Self.bytes(last))) }
            #expect(!assembly.isCollecting)
            switch whole {
            case .success(.message(let message)?):
                #expect(last == 40)
                #expect(message.payload.attachments.map(\.count) == [40, 40])
            case .failure(let error as LinkspanError):
                #expect(last == 41)
                #expect(error.code == .protocolViolation)
            default: Issue.record("it is neither complete nor refused")
            }
        }
    }

    @Test
    func `a text in place of an attachment is refused, and a binary message that nothing has announced`() throws {
        var assembly = EnvelopeAssembly(codec: Pairs(), maximumBytes: 100)
        #expect(throws: LinkspanError.self) { try assembly.receive(.binary(Self.bytes(1))) }
        _ = try assembly.receive(.text(Self.bytes(1)))
        #expect(throws: LinkspanError.self) { try assembly.receive(.text(Self.bytes(1))) }
        #expect(!assembly.isCollecting)
    }
}
