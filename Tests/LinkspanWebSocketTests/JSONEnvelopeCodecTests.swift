internal import Linkspan
internal import LinkspanWebSocket
internal import Testing

@Suite
struct JSONEnvelopeCodecTests {
    @Test
    func `an envelope above a limit of this side is refused with the limit`() {
        let envelopes = [
            #"{"event":"e","data":"# + String(repeating: "[", count: 64):
                "the envelope is nested deeper than the 64 levels that are accepted here",
            #"{"event":"e","data":[0"# + String(repeating: ",0", count: 100_000) + "]}":
                "the envelope has more than the 100000 values that are accepted here",
            #"{"event":"e","attachments":11}"#:
                "the envelope announces more attachments than the 10 that are accepted here",
            #"{"event":"e","attachments":-1}"#: "the envelope's attachments are not a number from 0 to 10",
            #"{"event":"e","attachments":"1"}"#: "the envelope's attachments are not a number from 0 to 10",
            #"{"event":"e",}"#: "the envelope is not acceptable JSON",
        ]
        for (envelope, message) in envelopes {
            let error = #expect(throws: LinkspanError.self) {
                try JSONEnvelopeCodec().decode(text: Array(envelope.utf8)[...])
            }
            #expect(error?.code == .protocolViolation)
            #expect(error?.message == message)
        }
    }
}
