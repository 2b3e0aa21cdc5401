internal import LinkspanWebSocketProtocol

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
