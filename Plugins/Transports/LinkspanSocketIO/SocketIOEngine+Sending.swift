internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime

extension SocketIOEngine {
    func send(_ payload: Payload, overhead: Int, write: (inout [UInt8]) -> Void) -> SendAcceptance {
        let length = payload.elements.count + overhead + 24
        return self.admit(largest: payload.attachments.reduce(length) { max($0, $1.count) }) { carrier in
            carrier.send(expectedLength: length, attachments: payload.attachments, write: write)
        }
    }

    /// Sends a packet that a codec of the app's writes.
    func send(_ packet: SocketIOCodecPacket, by codec: any SocketIOCodec) -> SendAcceptance {
        do throws(LinkspanError) {
            let messages = try SocketIOCoding.messages(packet, by: codec)
            return self.admit(largest: messages.reduce(0) { max($0, $1.byteCount) }) { $0.send(messages) }
        } catch {
            return .rejected(error)
        }
    }

    private func admit(
        largest: Int, _ send: (any EngineCarrier) -> WebSocketChannel.SendResult
    ) -> SendAcceptance {
        guard self.takesMessages, let carrier = self.carrier else { return .refused }
        // A suspended process wakes with its timers still to fire: what it writes then goes to a peer long gone.
        if let deadline = self.heartbeatDeadline, deadline <= .now {
            self.engines.loop.executeLocally { self.timerFired() }
            return .refused
        }
        let maximum = self.maximumPayload
        guard largest <= maximum else {
            return .rejected(
                LinkspanError(.messageTooLarge, "the message is larger than the \(maximum) bytes the server takes"))
        }
        switch send(carrier) {
        case .sent: return .accepted
        case .full: return .acceptedAndFull
        case .notOpen: return .refused
        }
    }

    func pauseReading() { self.carrier?.pauseReading() }

    func resumeReading() { self.carrier?.resumeReading() }
}
