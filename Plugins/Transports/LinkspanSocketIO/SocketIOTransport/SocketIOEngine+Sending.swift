internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanWebSocketProtocol

extension SocketIOEngine {
    /// Sends a packet.
    ///
    /// - Parameters:
    ///   - payload: its arguments.
    ///   - length: the bytes of its text, which are compared with what the server accepts.
    ///   - isCompressible: whether it may be compressed.
    ///   - write: writes the text.
    /// - Returns: what became of it.
    func send(
        _ payload: Payload, length: Int, isCompressible: Bool = true, write: (inout ByteWriter) -> Void
    ) -> SendAcceptance {
        let attachment = payload.attachments.isEmpty ? 0 : payload.attachments.reduce(0) { max($0, $1.count) }
        return self.admit(text: length, attachment: attachment) { carrier in
            carrier.send(
                .text, length: length, attachments: payload.attachments, isCompressible: isCompressible,
                write: write)
        }
    }

    /// Sends a packet that a codec of the app's writes.
    func send(
        _ packet: SocketIOCodecPacket, by codec: any SocketIOCodec, isCompressible: Bool = true
    ) -> SendAcceptance {
        do throws(LinkspanError) {
            let messages = try SocketIOCoding.messages(packet, by: codec)
            var (text, attachment) = (0, 0)
            for message in messages {
                switch message {
                case .text(let bytes): text = max(text, bytes.count)
                case .binary(let bytes): attachment = max(attachment, bytes.count)
                }
            }
            return self.admit(text: text, attachment: attachment) {
                $0.send(messages, isCompressible: isCompressible)
            }
        } catch {
            return .rejected(error)
        }
    }

    /// The most bytes that a carrier puts before a text.
    private static var mostPrefix: Int { 16 }

    /// Sends what the carrier and the server take.
    ///
    /// - Parameters:
    ///   - text: the bytes of the longest text.
    ///   - attachment: those of the largest attachment; 0 for none.
    ///   - send: gives it to the carrier.
    /// - Returns: what became of it.
    @inline(__always)
    private func admit(
        text: Int, attachment: Int, _ send: (any EngineCarrier) -> SendAcceptance
    ) -> SendAcceptance {
        guard self.phase == .open else { return .refused }
        // A suspended process wakes with its timers still to fire: what it writes then goes to a peer long gone.
        if !self.isReading, let deadline = self.liveness.heartbeatDeadline, deadline <= self.now, self.isOverdue() {
            // Once, whatever else is refused meanwhile: during the last look the timer firing is the end.
            self.loop.executeLocally {
                guard !self.liveness.isLastLook else { return }
                self.timerFired()
                // Something has come since: what was refused may go on.
                if !self.liveness.isLastLook { self.writable() }
            }
            return .refused
        }
        switch self.ownedCarrier {
        case .some(let owned):
            // Asked only where it may matter: most messages are small.
            let isSmall = text <= self.maximumPayload - Self.mostPrefix
            let ofText = isSmall ? text : owned.object.length(ofText: text)
            let largest = attachment == 0 ? ofText : max(ofText, owned.object.length(ofAttachment: attachment))
            guard largest <= self.maximumPayload else {
                return owned.object.isChanging ? .refused : .rejected(self.tooLarge(largest))
            }
            return send(owned.object)
        case nil: return .refused
        }
    }

    private func tooLarge(_ length: Int) -> LinkspanError {
        let text =
            "the message takes \(length) bytes on the wire, more than the \(self.maximumPayload) that the server accepts"
        return LinkspanError(.messageTooLarge, text)
    }

    /// Notes that a link is about to send.
    ///
    /// - Parameters:
    ///   - turn: the link's latest turn.
    ///   - request: the number of its request; nil for other messages, and for one that is sent once more.
    func noteSend(in turn: inout SendTurns.Turn, request: UInt64? = nil) {
        if !self.turns.isLatest(turn) { turn = self.beginTurn() }
        turn.note(request: request)
    }

    private func beginTurn() -> SendTurns.Turn {
        // Over polling, by the answers to its POSTs.
        if self.phase == .open, let carrier, carrier.tellsServerOfAbort, !carrier.hasPendingBytes {
            self.turns.acceptedAll()
        }
        return self.turns.begin()
    }
}
