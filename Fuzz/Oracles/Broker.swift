internal import Linkspan
internal import LinkspanBrokers
internal import LinkspanNetwork

@testable internal import LinkspanWebSocket

extension FuzzTarget {
    /// The packets of an MQTT broker: `5` or `3` for the version, `r` for a session that the broker has accepted or another
    /// character for a new one, and the stream.
    ///
    /// The stream means the same however it is cut; payloads are well-formed; what is answered is acknowledgements alone.
    public static let mqtt = Self(name: "mqtt", maximumLength: 4096) { input throws(Violation) in
        let isV5 = input.first != UInt8(ascii: "3")
        let language = MQTTMessageProtocol {
            $0.version = isV5 ? .v5 : .v3
            $0.clientID = "me"
        }
        try BrokerOracle.check(
            input, language, events: ["t", "a/+"], greeting: [0x20, isV5 ? 3 : 2, 0, 0] + (isV5 ? [0] : [])
        ) { answers throws(Violation) in
            try require(answers.count % 4 == 0, "an answer is cut off")
            for start in stride(from: 0, to: answers.count, by: 4) {
                try require(answers[start] == 0x40 && answers[start + 1] == 2, "an answer is no PUBACK")
            }
        }
    }

    /// The operations of a NATS server: a character that means nothing, `r` for a session that the server has accepted or
    /// another for a new one, and the stream.
    ///
    /// The stream means the same however it is cut; payloads are well-formed; what is answered is lines of the protocol.
    public static let nats = Self(name: "nats", maximumLength: 4096) { input throws(Violation) in
        let greeting = "INFO {\"server_id\":\"S\",\"client_id\":5,\"max_payload\":100}\r\nPONG\r\n"
        try BrokerOracle.check(input, NATSMessageProtocol(), events: ["t", "a.*"], greeting: Array(greeting.utf8)) {
            answers throws(Violation) in
            let lines = FuzzInput.text(answers).split(separator: "\r\n")
            try require(answers.isEmpty || answers.last == 10, "an answer is cut off")
            for line in lines {
                let isKnown =
                    ["PONG", "PING"].contains(line) || line.hasPrefix("CONNECT {") || line.hasPrefix("SUB _INBOX.")
                try require(isKnown, "the session answers \(line)")
            }
        }
    }
}

private enum BrokerOracle {
    /// A session, and what it has made of the stream so far.
    private struct Life {
        var session: any MessageProtocol
        private var assembly = EnvelopeAssembly(maximumBytes: 4096)
        var lines: [String] = []
        var answers: [UInt8] = []
        var error: LinkspanError?

        init(_ language: any MessageProtocol, greeting: [UInt8], events: [String]) {
            self.session = language
            guard let url = try? ConnectionURL("ws://broker") else { return }
            _ = try? self.session.begin(SessionStart(url: url))
            guard !greeting.isEmpty else { return }
            _ = try? self.session.decode(binary: greeting[...])
            for event in events { _ = try? self.session.subscribe(to: event) }
            // Two deliveries, a request and a heartbeat that wait for their answers.
            var buffer: [UInt8] = []
            for id in 1...2 as ClosedRange<UInt64> {
                _ = try? self.session.encode(delivery: .init(event: "d", payload: .empty, id: id), to: &buffer)
            }
            _ = try? self.session.encode(.event(name: "q", payload: .empty, id: 3), to: &buffer)
        }

        mutating func receive(_ bytes: ArraySlice<UInt8>) throws(Violation) {
            guard self.error == nil else { return }
            var payloads: [Payload] = []
            do throws(LinkspanError) {
                var event = try self.assembly.receive(.binary(bytes), by: &self.session)
                while let next = event {
                    self.lines.append("\(next)")
                    if case .message(let message) = next { payloads.append(message.payload) }
                    event = self.assembly.popPending()
                }
            } catch {
                self.error = error
            }
            self.answers += self.assembly.takeAnswers().flatMap(\.bytes)
            for payload in payloads {
                let isWellFormed = (try? ReferenceJSON.elements(Array(payload.elements))) != nil
                try require(isWellFormed && payload.attachments.count <= 1, "a payload is malformed")
            }
        }
    }

    static func check(
        _ input: [UInt8], _ language: any MessageProtocol, events: [String], greeting: [UInt8],
        answers check: ([UInt8]) throws(Violation) -> Void
    ) throws(Violation) {
        let isReady = input.dropFirst().first == UInt8(ascii: "r")
        let stream = input.dropFirst(2)
        let fresh = Life(language, greeting: isReady ? greeting : [], events: events)
        var whole = fresh
        try whole.receive(stream)
        try check(whole.answers)
        if let error = whole.error {
            let wrong: [LinkspanError.Code] = [.encodingFailed, .decodingFailed, .timedOut, .cancelled]
            try require(!wrong.contains(error.code), "a broker's fault is called \(error.code)")
            try require(!error.message.utf8.contains { $0 < 0x20 }, "an error quotes control characters")
        }
        // Cut into pieces of a size that the input determines, and in two.
        let size = 1 + Int(input.reduce(0) { $0 &* 31 &+ $1 }) % 7
        var pieces = fresh
        for start in stride(from: stream.startIndex, to: stream.endIndex, by: size) {
            try pieces.receive(stream[start..<min(start + size, stream.endIndex)])
        }
        try require(pieces.error?.code == whole.error?.code, "cut into pieces of \(size) it ends otherwise")
        guard whole.error == nil else { return }
        try require(pieces.lines.sorted() == whole.lines.sorted(), "cut into pieces of \(size) it has other events")
        try require(pieces.answers == whole.answers, "cut into pieces of \(size) it has other answers")
        try Self.goOn(whole.session)
    }

    /// Whatever has come, the session sends or refuses with an error of its own.
    private static func goOn(_ session: any MessageProtocol) throws(Violation) {
        var (session, buffer) = (session, [UInt8]())
        for id in 0...3 as ClosedRange<UInt64> {
            do throws(LinkspanError) {
                _ = try session.encode(.reply(id: id, payload: .empty), to: &buffer)
                _ = try session.encode(.event(name: "t", payload: .empty, id: id), to: &buffer)
                _ = try session.subscribe(to: "b\(id)")
            } catch {
                try require(
                    [.encodingFailed, .messageTooLarge].contains(error.code), "a message is refused by \(error.code)")
            }
        }
        for time in [1, 1_000_000] { _ = try? session.deadlinePassed(at: .seconds(time)) }
        _ = session.end()
    }
}
