internal import Linkspan

@testable internal import LinkspanSocketIO

extension FuzzTarget {
    /// Packets with attachments: a line is a frame, `t` and its text or `b` and its bytes.
    ///
    /// What is kept stays within the limit at every step, an error leaves nothing behind, and a packet has exactly the
    /// attachments that it announced.
    public static let socketIODecoder = Self(name: "socketio-decoder", maximumLength: 4096) { input throws(Violation) in
        let limits = SocketIOLimits(maximumMessageBytes: 256)
        var decoder = SocketIODecoder(limits: limits)
        var due = 0
        for line in FuzzInput.lines(input) {
            guard let kind = line.first, kind == UInt8(ascii: "t") || kind == UInt8(ascii: "b") else { continue }
            let isText = kind == UInt8(ascii: "t")
            let frame = line.dropFirst()
            let wasCollecting = decoder.isCollecting
            let result = Result { () throws(SocketIOProtocolError) in
                try isText ? decoder.receive(text: frame) : decoder.receive(binary: frame)
            }
            switch result {
            case .success(let packet):
                try require(isText != wasCollecting, "a frame out of turn is taken")
                due = isText ? SocketIOOracle.announced(frame) : due - 1
                try require(decoder.isCollecting == (due > 0), "\(due) attachments are due, but not to the decoder")
                try require(packet == nil || due == 0, "a packet comes before its attachments")
                if let packet { try SocketIOOracle.check(packet, limits) }
            case .failure:
                due = 0
                try require(!decoder.isCollecting && decoder.unfinishedBytes == 0, "something is kept after an error")
                try SocketIOOracle.checkUsable(decoder)
            }
            try require(decoder.unfinishedBytes <= limits.maximumMessageBytes, "more is kept than the limit")
            try require(decoder.isCollecting || decoder.unfinishedBytes == 0, "an idle decoder keeps something")
        }
    }
}

private enum SocketIOOracle {
    /// How many attachments a text announces that has been accepted.
    static func announced(_ text: ArraySlice<UInt8>) -> Int {
        guard text.first == UInt8(ascii: "5") || text.first == UInt8(ascii: "6") else { return 0 }
        return Int(FuzzInput.text(text.dropFirst().prefix { $0 != UInt8(ascii: "-") })) ?? -1
    }

    static func check(_ packet: SocketIOPacket, _ limits: SocketIOLimits) throws(Violation) {
        let flat = FlatPacket(packet)
        try require(flat.byteCount <= limits.maximumMessageBytes, "a packet exceeds the limit")
        if FuzzInput.isUTF8(flat.elements) { try packet.checkAccepted() }
    }

    /// After an error the next packet is read as if nothing had been.
    static func checkUsable(_ decoder: SocketIODecoder) throws(Violation) {
        var decoder = decoder
        let probe = Array(#"2["still there"]"#.utf8)
        guard case .event(_, let message)? = try? decoder.receive(text: probe[...]), message.event == "still there"
        else {
            throw Violation(message: "the decoder is of no use after an error")
        }
    }
}
