internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime

extension SocketIOEngine {
    func send(_ payload: Payload, overhead: Int, write: (inout [UInt8]) -> Void) -> SendAcceptance {
        let length = payload.elements.count + overhead + 24
        var largest = length
        if !payload.attachments.isEmpty { largest = payload.attachments.reduce(length) { max($0, $1.count) } }
        return self.admit(largest: largest) { carrier in
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

    @inline(__always)
    private func admit(
        largest: Int, _ send: (any EngineCarrier) -> WebSocketChannel.SendResult
    ) -> SendAcceptance {
        guard self.takesMessages, let carrier = self.carrier else { return .refused }
        // A suspended process wakes with its timers still to fire: what it writes then goes to a peer long gone.
        if !self.isReading, let deadline = self.heartbeatDeadline, deadline <= .now {
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

    /// Reads no further while one of the links wants that: they share the socket.
    func setReadingPaused(_ isPaused: Bool, for link: SocketIOLink) {
        if isPaused {
            self.pausing.insert(ObjectIdentifier(link))
        } else if self.pausing.remove(ObjectIdentifier(link)) == nil {
            return
        }
        self.carrier?.setReadingPaused(!self.pausing.isEmpty)
    }
}
