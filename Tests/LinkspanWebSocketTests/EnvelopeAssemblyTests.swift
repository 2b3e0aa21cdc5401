internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanWebSocket
internal import LinkspanWebSocketProtocol
internal import Testing

@Suite("Envelopes with attachments")
struct EnvelopeAssemblyTests {
    /// Each text is an event with two attachments, or as many as are announced.
    private struct Pairs: MessageProtocol {
        let name = "pairs"
        var attachmentCount = 2

        func encode(_ envelope: Envelope, to buffer: inout [UInt8]) throws(LinkspanError) -> EncodedKind { .text }

        func decode(text: ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
            DecodedEnvelope(.event(name: "pair", payload: .empty, id: nil), attachmentCount: self.attachmentCount)
        }

        func decode(binary: ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
            throw LinkspanError(.protocolViolation, "no binary message is due")
        }
    }

    private static func bytes(_ count: Int) -> ArraySlice<UInt8> { [UInt8](repeating: 0x20, count: count)[...] }

    @Test
    func `a message counts against the limit with all its attachments`() throws {
        var codec: any MessageProtocol = Pairs()
        var assembly = EnvelopeAssembly(maximumBytes: 100)
        for last in [40, 41] {
            #expect(try assembly.receive(.text(Self.bytes(20)), by: &codec) == nil)
            #expect(try assembly.receive(.binary(Self.bytes(40)), by: &codec) == nil)
            #expect(assembly.isCollecting)
            let whole = Result { try assembly.receive(.binary(Self.bytes(last)), by: &codec) }
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
    func `a message that a deadline has made counts with its attachments alone`() throws {
        var codec: any MessageProtocol = Pairs()
        var assembly = EnvelopeAssembly(maximumBytes: 100)
        let pair = DecodedEnvelope(.event(name: "pair", payload: .empty, id: nil), attachmentCount: 1)
        #expect(try assembly.receive(timed: pair) == nil)
        #expect(try assembly.receive(.binary(Self.bytes(100)), by: &codec) != nil)
    }

    @Test
    func `a protocol has no keys, and leaves pings to the link, unless it says otherwise`() {
        #expect(!Pairs().sendsKeys && Pairs().answersPings)
    }

    @Test(arguments: [-1, 0, 1, 10, 11, Int.max])
    func `a codec may announce ten attachments at most`(count: Int) throws {
        var codec: any MessageProtocol = Pairs(attachmentCount: count)
        var assembly = EnvelopeAssembly(maximumBytes: 100)
        guard (0...10).contains(count) else {
            let error = #expect(throws: LinkspanError.self) { try assembly.receive(.text(Self.bytes(1)), by: &codec) }
            #expect(error?.code == .protocolViolation)
            #expect(!assembly.isCollecting)
            return
        }
        var event = try assembly.receive(.text(Self.bytes(1)), by: &codec)
        for _ in 0..<count {
            #expect(event == nil)
            event = try assembly.receive(.binary(Self.bytes(1)), by: &codec)
        }
        guard case .message(let message)? = event else {
            Issue.record("the message is not complete")
            return
        }
        #expect(message.payload.attachments.count == count)
    }

    /// A text is a list of numbers, each an event; an empty one is answered.
    private struct Numbers: MessageProtocol {
        let name = "numbers"

        func encode(_ envelope: Envelope, to buffer: inout [UInt8]) throws(LinkspanError) -> EncodedKind { .text }

        func decode(text: ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
            let numbers = try Payload(checking: text).values
            return DecodedEnvelope(
                try numbers.map { number throws(LinkspanError) in
                    .event(name: "number", payload: try Payload(number), id: nil)
                }, answers: numbers.isEmpty ? [.text(Array("empty".utf8)[...])] : [])
        }

        func decode(binary: ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope { DecodedEnvelope([]) }
    }

    @Test
    func `a message may be none, one or several events, and be answered`() throws {
        var codec: any MessageProtocol = Numbers()
        var assembly = EnvelopeAssembly(maximumBytes: 100)
        var heard: [Int] = []
        for text in ["1", "", "2,3,4", "5"] {
            var event = try assembly.receive(.text(Array(text.utf8)[...]), by: &codec)
            while case .message(let message)? = event {
                heard.append(message.payload[0]?.int ?? 0)
                event = assembly.popPending()
            }
            #expect(assembly.takeAnswers() == (text.isEmpty ? [.text(Array("empty".utf8)[...])] : []))
            #expect(assembly.takeAnswers() == [])
        }
        #expect(heard == [1, 2, 3, 4, 5])
        #expect(try assembly.receive(.binary([1]), by: &codec) == nil)
        #expect(try Numbers().decode(text: Array("1,2".utf8)[...]).envelopes.count == 2)
    }

    /// A text is refused twice, and a ping stands for two events.
    private struct Twice: MessageProtocol {
        let name = "twice"

        func encode(_ envelope: Envelope, to buffer: inout [UInt8]) throws(LinkspanError) -> EncodedKind { .text }

        func decode(text: ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
            DecodedEnvelope(failures: [1, 2].map { .init(id: $0, LinkspanError(.refused, "in a test")) })
        }

        func decode(binary: ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
            throw LinkspanError(.encodingFailed, "in a test")
        }

        func decode(ping: ArraySlice<UInt8>) -> [Envelope] {
            ["a", "b"].map { .event(name: $0, payload: .empty, id: nil) }
        }
    }

    @Test
    func `failures, and the events of a ping, come in order`() throws {
        var codec: any MessageProtocol = Twice()
        var assembly = EnvelopeAssembly(maximumBytes: 100)
        var heard: [String] = []
        func note(_ first: LinkEvent?) {
            var event = first
            while let next = event {
                if case .failed(let id, _) = next { heard.append("\(id ?? 0)") }
                if case .message(let message) = next { heard.append(message.event) }
                event = assembly.popPending()
            }
        }
        note(try assembly.receive(.text(Self.bytes(1)), by: &codec))
        note(assembly.receive(.ping, payload: [], by: &codec))
        #expect(heard == ["1", "2", "a", "b"])
        let error = #expect(throws: LinkspanError.self) { try assembly.receive(.binary(Self.bytes(1)), by: &codec) }
        #expect(error?.code == .protocolViolation)
    }

    @Test
    func `whatever a codec throws ends the link as a violation of the protocol`() throws {
        var codec: any MessageProtocol = Numbers()
        var assembly = EnvelopeAssembly(maximumBytes: 100)
        let error = #expect(throws: LinkspanError.self) {
            try assembly.receive(.text(Array("{".utf8)[...]), by: &codec)
        }
        #expect(error?.code == .protocolViolation)
        #expect((error?.cause as? LinkspanError)?.code == .decodingFailed)
    }

    @Test
    func `a text in place of an attachment is refused, and a binary message that nothing has announced`() throws {
        var codec: any MessageProtocol = Pairs()
        var assembly = EnvelopeAssembly(maximumBytes: 100)
        #expect(throws: LinkspanError.self) { try assembly.receive(.binary(Self.bytes(1)), by: &codec) }
        _ = try assembly.receive(.text(Self.bytes(1)), by: &codec)
        #expect(throws: LinkspanError.self) { try assembly.receive(.text(Self.bytes(1)), by: &codec) }
        #expect(!assembly.isCollecting)
    }
}
