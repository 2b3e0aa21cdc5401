internal import Linkspan
internal import LinkspanWebSocket
internal import Testing

@Suite("Text without an envelope")
struct TextEnvelopeCodecTests {
    private let codec = TextEnvelopeCodec(event: "line")

    @Test
    func `is the one string of an event`() throws {
        var buffer: [UInt8] = [1]
        let envelope = Envelope.event(name: "whatever", payload: try Payload("a \"b\" \n"), id: nil)
        #expect(try self.codec.encode(envelope, to: &buffer) == .text)
        #expect(buffer == [1] + Array("a \"b\" \n".utf8))
        guard case .event(let name, let payload, nil) = try self.codec.decode(text: buffer[1...]).envelopes.first else {
            Issue.record("it is no event")
            return
        }
        #expect(name == "line")
        #expect(try payload.decode(String.self) == "a \"b\" \n")
    }

    @Test
    func `carries nothing else`() throws {
        let envelopes: [Envelope] = [
            .event(name: "e", payload: .empty, id: nil), .event(name: "e", payload: try Payload(7), id: nil),
            .event(name: "e", payload: try Payload("a", "b"), id: nil),
            .event(name: "e", payload: try Payload("a"), id: 1), .reply(id: 1, payload: try Payload("a")),
            .auth(try Payload("a")),
        ]
        for envelope in envelopes {
            var buffer: [UInt8] = []
            let error = #expect(throws: LinkspanError.self) { try self.codec.encode(envelope, to: &buffer) }
            #expect(error?.code == .encodingFailed)
            #expect(buffer.isEmpty)
        }
        let error = #expect(throws: LinkspanError.self) { try self.codec.decode(binary: [1]) }
        #expect(error?.code == .protocolViolation)
    }
}
