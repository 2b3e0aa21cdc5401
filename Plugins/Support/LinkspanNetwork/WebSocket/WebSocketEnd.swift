internal import Linkspan
package import LinkspanWebSocketProtocol

/// The end of a channel and its reason.
package enum WebSocketEnd: Sendable, Hashable {
    /// The stream below could not be opened, or broke without a Close frame.
    case stream(ByteStreamError)
    /// The server's answer to the handshake broke a rule.
    case handshake(WebSocketProtocolError)
    /// The closing handshake took place, or the peer broke the protocol (see ``/LinkspanWebSocketProtocol/CloseEvent/violation``).
    case closed(CloseEvent)
    /// The server did not answer a ping in time.
    case silent
    /// This side ended it without ceremony.
    case aborted
}

extension WebSocketEnd {
    /// The refusal of a server that agrees to the upgrade and then answers in HTTP all the same, as engine.io does; nil when
    /// its bytes are something else.
    init?(lateRefusal chunk: [UInt8]) {
        guard chunk.starts(with: "HTTP/1.1 ".utf8),
            let status = Int(String(decoding: chunk.dropFirst(9).prefix(3), as: UTF8.self))
        else { return nil }
        let sentence = "the server answered with status \(status) after it accepted the upgrade"
        let text = Self.body(of: chunk)
        self = .stream(
            ByteStreamError(
                .refusedAfterUpgrade, text.isEmpty ? sentence : "\(sentence): \(text)", status: status))
    }

    /// The beginning of an answer's body in one line, as far as it came with the head.
    private static func body(of answer: [UInt8]) -> String {
        let answer = answer.prefix(4096)
        guard let end = answer.firstRange(of: [UInt8].headEnd)?.upperBound else { return "" }
        let body = String(decoding: answer[end...], as: UTF8.self)
        return ForeignText.line(body.drop { $0.isWhitespace })
    }
}

extension ByteStreamError {
    /// The server's text in the message of a ``Code/refusedAfterUpgrade``; nil when none came with the status.
    package var lateText: Substring? {
        guard self.code == .refusedAfterUpgrade, let mark = self.message.firstRange(of: ": ") else { return nil }
        return self.message[mark.upperBound...]
    }
}

/// The first bytes behind the handshake, kept together while they may be the start of a refusal in HTTP.
///
/// As a frame they break the protocol from the first byte on, before the status has come.
struct RefusalStart {
    private static let version = Array("HTTP/1.1 ".utf8)
    /// The bytes up to the end of the status.
    private static let length = Self.version.count + 3

    /// Nil once it is known that they are something else, or the status is there.
    private var kept: [UInt8]? = []

    /// Takes a chunk.
    ///
    /// - Returns: the bytes to read now, the kept ones first; nil when the chunk was kept.
    mutating func take(_ chunk: [UInt8]) -> [UInt8]? {
        guard let kept = self.kept else { return chunk }
        let start = kept.isEmpty ? chunk : kept + chunk
        guard start.count < Self.length, start.starts(with: Self.version.prefix(start.count)) else {
            self.kept = nil
            return start
        }
        self.kept = start
        return nil
    }
}
