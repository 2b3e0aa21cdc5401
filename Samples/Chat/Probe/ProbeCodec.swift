import Linkspan
import LinkspanNetwork
import LinkspanWebSocket

/// No envelope: each message of a raw WebSocket is an event `text` with a string or an event `binary` with bytes.
struct ProbeCodec: EnvelopeCodec {
    let name = "raw"
    private let text = TextEnvelopeCodec()
    private let binary = BinaryEnvelopeCodec()

    func encode(_ envelope: Envelope, to buffer: inout [UInt8]) throws(LinkspanError) -> EncodedKind {
        if case .event(self.binary.event, _, _) = envelope { return try self.binary.encode(envelope, to: &buffer) }
        return try self.text.encode(envelope, to: &buffer)
    }

    func decode(text: ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
        try self.text.decode(text: text)
    }

    func decode(binary: ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
        try self.binary.decode(binary: binary)
    }
}
