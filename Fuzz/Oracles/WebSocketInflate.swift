@testable internal import LinkspanWebSocketProtocol

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
        // A peer that refers to what its smaller window has lost is found out by zlib only where the reference crosses
        // what one call was given: what comes out is right either way.
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
