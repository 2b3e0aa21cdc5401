internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@testable internal import LinkspanWebSocketProtocol

/// Frames written byte by byte, on purpose without the encoder under test.
enum Wire {
    static func frame(_ first: UInt8, _ payload: [UInt8] = [], mask: [UInt8]? = nil) -> [UInt8] {
        let flag: UInt8 = mask == nil ? 0 : 0x80
        var bytes = [first]
        switch payload.count {
        case ...125: bytes.append(flag | UInt8(payload.count))
        case ...65535: bytes += [flag | 126] + Self.number(payload.count, bytes: 2)
        default: bytes += [flag | 127] + Self.number(payload.count, bytes: 8)
        }
        guard let mask else { return bytes + payload }
        return bytes + mask + payload.enumerated().map { $1 ^ mask[$0 % 4] }
    }

    static func number(_ value: Int, bytes: Int) -> [UInt8] {
        (0..<bytes).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }

    static func bytes(_ hex: String) -> [UInt8] {
        hex.split(separator: " ").compactMap { UInt8($0, radix: 16) }
    }
}

extension CompressionAgreement {
    /// An agreement with windows of these bits.
    init(clientForgets: Bool = false, serverForgets: Bool = false, bits: Int = 15, threshold: Int = 256) {
        self.init(
            clientNoContextTakeover: clientForgets, serverNoContextTakeover: serverForgets, clientWindowBits: bits,
            serverWindowBits: bits, options: .init { $0.threshold = threshold })
    }
}

/// What a decoder made of some bytes: all it returned, and the error it ended with.
struct Drained: Equatable, Sendable {
    var incoming: [FrameDecoder.Incoming] = []
    var error: WebSocketProtocolError.Code?
}

extension FrameDecoder {
    /// Feeds chunks until they are used up or one of them is refused.
    mutating func drain(_ chunks: [ArraySlice<UInt8>]) -> Drained {
        var drained = Drained()
        do throws(WebSocketProtocolError) {
            for chunk in chunks {
                self.append(chunk)
                while let incoming = try self.next() { drained.incoming.append(incoming) }
            }
        } catch {
            drained.error = error.code
        }
        return drained
    }

    /// What a fresh decoder for `role` makes of `bytes` in one chunk.
    static func decode(
        _ bytes: [UInt8], role: WebSocketRole = .client, limits: WebSocketLimits = .init()
    ) -> Drained {
        var decoder = FrameDecoder(role: role, limits: limits)
        return decoder.drain([bytes[...]])
    }
}

extension MaskSource {
    /// Draws from a generator with a seed.
    init(seed: UInt64) {
        let generator = Lock(SeededGenerator(seed: seed))
        self.init { block in
            generator.withLock { generator in
                for index in block.indices { block[index] = UInt32(truncatingIfNeeded: generator.next()) }
            }
        }
    }
}

extension SeededGenerator {
    mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: self.next()) }
    }
}
