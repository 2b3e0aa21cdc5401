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
