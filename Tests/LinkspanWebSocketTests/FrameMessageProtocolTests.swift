internal import Foundation
internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanWebSocket
internal import LinkspanWebSocketProtocol
internal import Testing

@Suite("Frames without an envelope")
struct FrameMessageProtocolTests {
    private static let language = FrameMessageProtocol()

    @Test(arguments: [
        ("text", EncodedKind.text), ("binary", .attachment), ("ping", .ping), ("pong", .pong),
    ])
    func `each kind of frame is an event of that name, both ways`(_ event: String, _ kind: EncodedKind) throws {
        let payload = event == "text" ? try Payload("ab") : try Payload(Data("ab".utf8))
        var buffer: [UInt8] = []
        #expect(try Self.language.encode(.event(name: event, payload: payload, id: nil), to: &buffer) == kind)
        // A blob that is the whole message is sent from where it is.
        #expect(buffer == Array((kind == .attachment ? "" : "ab").utf8))
        if kind == .attachment { buffer += payload.attachments[0] }
        let envelopes =
            switch kind {
            case .text: try Self.language.decode(text: buffer[...]).envelopes
            case .ping: Self.language.decode(ping: buffer[...])
            case .pong: Self.language.decode(pong: buffer[...])
            case .binary, .selfContained, .attachment, .nothing:
                try Self.language.decode(binary: buffer[...]).envelopes
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
            .reply(id: 1, payload: text),
        ]
        for envelope in refused {
            var buffer: [UInt8] = []
            let error = #expect(throws: LinkspanError.self) { try Self.language.encode(envelope, to: &buffer) }
            #expect(error?.code == .encodingFailed)
        }
        var start = SessionStart(url: try ConnectionURL("ws://server.example"))
        #expect(try Self.language.begin(start) == [])
        start.credentials.auth = text
        #expect(throws: LinkspanError.self) { try Self.language.begin(start) }
    }

    @Test
    func `pings are answered unless the protocol says otherwise`() {
        #expect(JSONMessageProtocol().answersPings && FrameMessageProtocol().answersPings)
        #expect(!FrameMessageProtocol(answersPings: false).answersPings)
    }

    @Test
    func `a protocol that reads neither pings nor pongs makes no event of them`() throws {
        for opcode in [Opcode.ping, .pong] {
            var assembly = EnvelopeAssembly(maximumBytes: 100)
            var json: any MessageProtocol = JSONMessageProtocol()
            var frames: any MessageProtocol = FrameMessageProtocol()
            if assembly.receive(opcode, payload: [1], by: &json) != nil { Issue.record("the ping is an event") }
            let event = assembly.receive(opcode, payload: [1], by: &frames)
            guard case .message(let message)? = event else { throw LinkspanError(.protocolViolation, "no event") }
            #expect(message.event == (opcode == .ping ? "ping" : "pong"))
        }
    }
}
