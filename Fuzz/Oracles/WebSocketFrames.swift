@testable internal import LinkspanWebSocketProtocol

extension FuzzTarget {
    /// A stream of WebSocket frames: the first byte says how it is cut and who reads it, the rest is the stream.
    ///
    /// Messages do not depend on the cuts, nothing exceeds the limits or comes after the end, and what is answered is
    /// itself correct.
    public static let webSocketFrames = Self(name: "websocket-frames", maximumLength: 8192) { input throws(Violation) in
        guard let flags = input.first else { return }
        let role: WebSocketRole = flags & 1 == 0 ? .client : .server
        let stream = Array(input.dropFirst())
        let whole = try FrameOracle.decode([stream[...]], role: role)
        let cuts = [1, 2, 3, 7, 64, 1000, Int(flags) + 1]
        let size = cuts[Int(flags >> 1) % cuts.count]
        let pieces = stride(from: 0, to: stream.count, by: size).map {
            stream[$0..<min($0 + size, stream.count)]
        }
        let cut = try FrameOracle.decode(pieces, role: role)
        try require(cut == whole, "in pieces of \(size) bytes it is \(cut), and at once \(whole)")
        try FrameOracle.checkAnswers(pieces, role: role)
    }
}

private enum FrameOracle {
    static let limits = WebSocketLimits {
        $0.maxMessageBytes = 2048
        $0.maxFragments = 16
        $0.maxPongsPerChunk = 4
    }

    /// The outcome of a stream.
    struct Outcome: Equatable {
        var incoming: [FrameDecoder.Incoming] = []
        var error: WebSocketProtocolError.Code?
    }

    static func decode(_ chunks: [ArraySlice<UInt8>], role: WebSocketRole) throws(Violation) -> Outcome {
        var decoder = FrameDecoder(role: role, limits: Self.limits)
        var outcome = Outcome()
        for chunk in chunks {
            decoder.append(chunk)
            do throws(WebSocketProtocolError) {
                while let incoming = try decoder.next() { outcome.incoming.append(incoming) }
            } catch {
                try require(outcome.error == nil, "a decoder fails twice")
                outcome.error = error.code
            }
        }
        for incoming in outcome.incoming { try Self.check(incoming) }
        return outcome
    }

    /// Checks a message against the rules, and that it survives being written and read again.
    private static func check(_ incoming: FrameDecoder.Incoming) throws(Violation) {
        var written: [UInt8] = []
        switch incoming {
        case .text(let payload):
            try require(FuzzInput.isUTF8(payload), "a text is not UTF-8")
            try require(payload.count <= Self.limits.maxMessageBytes, "a message exceeds the limit")
            FrameEncoder.append(.text, payload: payload, mask: 0x0102_0304, to: &written)
        case .binary(let payload):
            try require(payload.count <= Self.limits.maxMessageBytes, "a message exceeds the limit")
            FrameEncoder.append(.binary, payload: payload, mask: 0x0102_0304, to: &written)
        case .ping(let payload):
            try require(payload.count <= 125, "a ping is too long")
            FrameEncoder.append(.ping, payload: payload, mask: 0x0102_0304, to: &written)
        case .pong(let payload):
            try require(payload.count <= 125, "a pong is too long")
            FrameEncoder.append(.pong, payload: payload, mask: 0x0102_0304, to: &written)
        case .close(let code, let reason):
            try require(code?.canBeSent ?? true, "a close code is accepted that must not be sent")
            FrameEncoder.appendClose(code, reason: reason, mask: 0x0102_0304, to: &written)
        }
        var decoder = FrameDecoder(role: .server, limits: Self.limits)
        decoder.append(written[...])
        try require((try? decoder.next()) == incoming, "what was read is written as something else")
    }

    /// Runs a session over the stream and reads what it answers with the eyes of the peer.
    static func checkAnswers(_ chunks: [ArraySlice<UInt8>], role: WebSocketRole) throws(Violation) {
        var session = WebSocketSession(role: role, limits: Self.limits)
        var answers: [UInt8] = []
        var hasEnded = false
        for chunk in chunks {
            session.receive(chunk)
            var output: [UInt8] = []
            while let event = session.next(into: &output) {
                try require(!hasEnded, "something comes after the end")
                if case .closed = event { hasEnded = true }
            }
            try require(output.count <= Self.limits.maxPongsPerChunk * 131 + 131, "a chunk is answered by a flood")
            answers += output
        }
        try require(hasEnded == !session.isOpen, "an ended session is open")
        var peer = FrameDecoder(role: role == .client ? .server : .client, limits: Self.limits)
        peer.append(answers[...])
        while true {
            let answer = Result { () throws(WebSocketProtocolError) in try peer.next() }
            switch answer {
            case .success(nil): return
            case .success(.pong), .success(.close): ()
            case .success(let answer?): throw Violation(message: "a session answers with \(answer)")
            case .failure(let error): throw Violation(message: "a session's answers break the protocol: \(error)")
            }
        }
    }
}

extension FuzzTarget {
    /// A stream of WebSocket frames, compressed ones among them: the first byte says what was agreed on, the second how
    /// the stream is cut.
    ///
    /// Messages do not depend on the cuts, none exceeds the limit, and what is read survives being compressed again.
    public static let webSocketInflate = Self(name: "websocket-inflate", maximumLength: 8192) {
        input throws(Violation) in
        guard input.count > 2 else { return }
        let agreement = CompressionAgreement(
            clientNoContextTakeover: input[0] & 1 == 1, serverNoContextTakeover: input[0] & 2 == 2,
            clientWindowBits: 15, serverWindowBits: 8 + Int(input[0] >> 2) % 8,
            options: .init { $0.threshold = 0 })
        let stream = Array(input.dropFirst(2))
        let whole = try InflateOracle.decode([stream[...]], agreement)
        let size = [1, 2, 3, 7, 64, 1000, Int(input[1]) + 1][Int(input[1]) % 7]
        let pieces = stride(from: 0, to: stream.count, by: size).map { stream[$0..<min($0 + size, stream.count)] }
        let cut = try InflateOracle.decode(pieces, agreement)
        // A reference to bytes beyond the peer's smaller window is an error to zlib only when it reaches behind the input of
        // the present call, so pieces may fail where the whole does not.
        try require(
            cut == whole || agreement.serverWindowBits < 15,
            "in pieces of \(size) bytes it is \(cut), and at once \(whole)")
        try InflateOracle.checkCompression(whole.messages, agreement)
    }
}

private enum InflateOracle {
    static let limits = WebSocketLimits {
        $0.maxMessageBytes = 256 * 1024
        $0.maxFragments = 16
    }

    struct Outcome: Equatable {
        var messages: [FrameDecoder.Incoming] = []
        var error: WebSocketProtocolError.Code?
    }

    static func decode(
        _ chunks: [ArraySlice<UInt8>], _ agreement: CompressionAgreement
    ) throws(Violation) -> Outcome {
        var decoder = FrameDecoder(role: .client, limits: Self.limits)
        decoder.begin(agreement)
        var outcome = Outcome()
        for chunk in chunks where outcome.error == nil {
            decoder.append(chunk)
            do throws(WebSocketProtocolError) {
                while let incoming = try decoder.next() { outcome.messages.append(incoming) }
            } catch {
                outcome.error = error.code
            }
        }
        for message in outcome.messages {
            switch message {
            case .text(let payload):
                try require(FuzzInput.isUTF8(payload), "a text is not UTF-8")
                try require(payload.count <= Self.limits.maxMessageBytes, "a message exceeds the limit")
            case .binary(let payload):
                try require(payload.count <= Self.limits.maxMessageBytes, "a message exceeds the limit")
            case .ping, .pong, .close: ()
            }
        }
        return outcome
    }

    /// Writes what was read as a server would, and reads it again.
    static func checkCompression(
        _ messages: [FrameDecoder.Incoming], _ agreement: CompressionAgreement
    ) throws(Violation) {
        var compressor = MessageCompressor(agreement, role: .server)
        var decoder = FrameDecoder(role: .client, limits: Self.limits)
        // Our own compressor may exceed the ratio that is borne of others.
        decoder.begin(
            CompressionAgreement(
                clientNoContextTakeover: agreement.clientNoContextTakeover,
                serverNoContextTakeover: agreement.serverNoContextTakeover,
                clientWindowBits: agreement.clientWindowBits, serverWindowBits: agreement.serverWindowBits,
                options: .init()))
        for message in messages {
            let payload: ArraySlice<UInt8>
            let opcode: Opcode
            switch message {
            case .text(let bytes): (opcode, payload) = (.text, bytes)
            case .binary(let bytes): (opcode, payload) = (.binary, bytes)
            case .ping, .pong, .close: continue
            }
            var written: [UInt8] = []
            compressor.append(opcode, payload: payload, mask: nil, to: &written)
            decoder.append(written[...])
            try require((try? decoder.next()) == message, "what was read is compressed to something else")
        }
    }
}
