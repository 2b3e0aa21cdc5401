internal import Linkspan

@testable internal import LinkspanSocketIO

extension FuzzTarget {
    /// The text of a Socket.IO packet.
    ///
    /// What is accepted is well-formed, and survives being written and read again.
    public static let socketIOPacket = Self(name: "socketio-packet", maximumLength: 4096) { input throws(Violation) in
        var decoder = SocketIODecoder()
        let packet: SocketIOPacket?
        do throws(SocketIOProtocolError) {
            packet = try decoder.receive(text: input[...])
        } catch {
            try require(!decoder.isCollecting && decoder.unfinishedBytes == 0, "something is kept after \(error)")
            return
        }
        guard FuzzInput.isUTF8(input) else { return }
        if let packet {
            try require(!decoder.isCollecting, "a packet is complete and attachments are due all the same")
            try packet.checkAccepted()
            return
        }
        guard decoder.isCollecting else { return }
        // It wants attachments: it gets them.
        var whole: SocketIOPacket?
        for number in 1...10 where whole == nil {
            do throws(SocketIOProtocolError) {
                whole = try decoder.receive(binary: [UInt8(number)])
            } catch {
                throw Violation(message: "an attachment that was announced is refused: \(error)")
            }
        }
        guard let whole else { throw Violation(message: "more than ten attachments are awaited") }
        try whole.checkAccepted()
    }
}
