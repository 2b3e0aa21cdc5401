internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanWebSocket
internal import Testing

@Suite
struct JSONMessageProtocolTests {
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
                try JSONMessageProtocol().decode(text: Array(envelope.utf8)[...])
            }
            #expect(error?.code == .protocolViolation)
            #expect(error?.message == message)
        }
    }

    @Test
    func `an auth payload without a value is sent as null`() throws {
        let start = SessionStart(credentials: Credentials(auth: .empty), url: try ConnectionURL("ws://server"))
        #expect(JSONMessageProtocol().begin(start) == [.text(Array(#"{"auth":null}"#.utf8)[...])])
    }

    @Test
    func `an id may be null and the data blank, and ten attachments may be announced`() throws {
        let decoded = try JSONMessageProtocol().decode(text: Array(#"{"event":"e","id":null,"data":[ ]}"#.utf8)[...])
        guard case .event("e", let payload, nil)? = decoded.envelopes.first else {
            Issue.record("there is no event without an id")
            return
        }
        #expect(payload.elements.isEmpty)
        #expect(throws: Never.self) {
            try JSONMessageProtocol().decode(text: Array(#"{"event":"e","attachments":10}"#.utf8)[...])
        }
    }

    @Test(arguments: [(10, true), (11, false)])
    func `an event is sent with ten attachments at most`(count: Int, isSent: Bool) {
        let payload = Payload(trustedElements: [], attachments: Array(repeating: [1], count: count))
        var buffer: [UInt8] = []
        let kind = try? JSONMessageProtocol().encode(.event(name: "e", payload: payload, id: nil), to: &buffer)
        #expect((kind == .text) == isSent)
    }

    @Test(arguments: [(300 << 10, false), (120 << 10, true), (0, true)])
    func `arguments that are less than half of a large envelope are copied`(blanks: Int, isPart: Bool) throws {
        let value = #""\#(String(repeating: "x", count: 129 << 10))""#
        let envelope = Array(#"{"event":"e",\#(String(repeating: " ", count: blanks))"data":[\#(value)]}"#.utf8)
        let decoded = try JSONMessageProtocol().decode(text: envelope[...])
        guard case .event(_, let payload, _)? = decoded.envelopes.first else {
            Issue.record("there is no event")
            return
        }
        #expect(String(decoding: payload.elements, as: UTF8.self) == value)
        let isInside = envelope.withUnsafeBytes { envelope in
            payload.elements.withUnsafeBytes { elements in
                guard let start = envelope.baseAddress, let address = elements.baseAddress else { return false }
                return address >= start && address < start + envelope.count
            }
        }
        #expect(isInside == isPart)
    }
}

@Suite("Text without an envelope")
struct TextMessageProtocolTests {
    private let language = TextMessageProtocol(event: "line")

    @Test
    func `is the one string of an event`() throws {
        var buffer: [UInt8] = [1]
        let envelope = Envelope.event(name: "whatever", payload: try Payload("a \"b\" \n"), id: nil)
        #expect(try self.language.encode(envelope, to: &buffer) == .text)
        #expect(buffer == [1] + Array("a \"b\" \n".utf8))
        guard case .event(let name, let payload, nil) = try self.language.decode(text: buffer[1...]).envelopes.first
        else {
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
        ]
        for envelope in envelopes {
            var buffer: [UInt8] = []
            let error = #expect(throws: LinkspanError.self) { try self.language.encode(envelope, to: &buffer) }
            #expect(error?.code == .encodingFailed)
            #expect(buffer.isEmpty)
        }
        let error = #expect(throws: LinkspanError.self) { try self.language.decode(binary: [1]) }
        #expect(error?.code == .protocolViolation)
    }
}
