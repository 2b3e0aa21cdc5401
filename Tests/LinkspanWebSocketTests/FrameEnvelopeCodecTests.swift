internal import Foundation
internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanWebSocket
internal import LinkspanWebSocketProtocol
internal import Testing

@Suite("Frames without an envelope")
struct FrameEnvelopeCodecTests {
    private static let codec = FrameEnvelopeCodec()

    @Test(arguments: [
        ("text", EncodedKind.text), ("binary", .selfContained), ("ping", .ping), ("pong", .pong),
    ])
    func `each kind of frame is an event of that name, both ways`(_ event: String, _ kind: EncodedKind) throws {
        let payload = event == "text" ? try Payload("ab") : try Payload(Data("ab".utf8))
        var buffer: [UInt8] = []
        #expect(try Self.codec.encode(.event(name: event, payload: payload, id: nil), to: &buffer) == kind)
        #expect(buffer == Array("ab".utf8))
        let envelopes =
            switch kind {
            case .text: try Self.codec.decode(text: buffer[...]).envelopes
            case .ping: Self.codec.decode(ping: buffer[...])
            case .pong: Self.codec.decode(pong: buffer[...])
            case .binary, .selfContained: try Self.codec.decode(binary: buffer[...]).envelopes
            }
        guard case .event(event, let read, nil)? = envelopes.first, envelopes.count == 1 else {
            throw LinkspanError(.protocolViolation, "\(envelopes)")
        }
        #expect(read[0]?.string == (event == "text" ? "ab" : nil))
        #expect(read[0]?.blob.map(Array.init) == (event == "text" ? nil : Array("ab".utf8)))
    }

    @Test
    func `other events, other arguments, requests and credentials are refused`() throws {
        let text = try Payload("ab")
        let refused: [Envelope] = [
            .event(name: "other", payload: text, id: nil), .event(name: "ping", payload: text, id: nil),
            .event(name: "text", payload: text, id: 1),
            .event(name: "binary", payload: try Payload(Data(), Data()), id: nil),
            .reply(id: 1, payload: text), .auth(text),
        ]
        for envelope in refused {
            var buffer: [UInt8] = []
            let error = #expect(throws: LinkspanError.self) { try Self.codec.encode(envelope, to: &buffer) }
            #expect(error?.code == .encodingFailed)
        }
    }

    @Test
    func `pings are answered unless the codec says otherwise`() {
        #expect(JSONEnvelopeCodec().answersPings && FrameEnvelopeCodec().answersPings)
        #expect(!FrameEnvelopeCodec(answersPings: false).answersPings)
    }

    @Test
    func `a codec that reads neither pings nor pongs makes no event of them`() throws {
        for opcode in [Opcode.ping, .pong] {
            var assembly = EnvelopeAssembly(maximumBytes: 100)
            #expect(try assembly.receive(opcode, payload: [1], by: JSONEnvelopeCodec()) == nil)
            let event = try assembly.receive(opcode, payload: [1], by: FrameEnvelopeCodec())
            guard case .message(let message)? = event else { throw LinkspanError(.protocolViolation, "no event") }
            #expect(message.event == (opcode == .ping ? "ping" : "pong"))
        }
    }
}
