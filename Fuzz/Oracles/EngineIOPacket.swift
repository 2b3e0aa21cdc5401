internal import LinkspanRuntime

@testable internal import LinkspanSocketIO

extension FuzzTarget {
    /// A text frame of Engine.IO, and the handshake inside.
    ///
    /// Each known type is accepted; numbers and names are within their bounds.
    public static let engineIOPacket = Self(name: "engineio-packet", maximumLength: 4096) { input throws(Violation) in
        let packet: EngineIOPacket
        do throws(SocketIOProtocolError) {
            packet = try EngineIOPacket(text: input[...])
        } catch {
            let isKnown = input.first.map { (UInt8(ascii: "0")...UInt8(ascii: "6")).contains($0) } ?? false
            try require(!isKnown, "a known type is refused")
            return
        }
        if case .open(let json) = packet, let handshake = try? EngineIOHandshake(json: json) {
            try EngineIOOracle.check(handshake)
        }
        try EngineIOOracle.checkSession(input)
    }
}

private enum EngineIOOracle {
    static func check(_ handshake: EngineIOHandshake) throws(Violation) {
        let allowed = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:@=+".utf8)
        try require((1...128).contains(handshake.sid.utf8.count), "the sid has no length or too much of it")
        try require(handshake.sid.utf8.allSatisfy(allowed.contains), "the sid has a character that breaks URLs")
        try require((.seconds(1) ... .seconds(600)).contains(handshake.pingInterval), "an absurd interval is believed")
        try require((.seconds(1) ... .seconds(300)).contains(handshake.pingTimeout), "an absurd timeout is believed")
        try require(handshake.maxPayload.map { (1...1 << 30).contains($0) } ?? true, "an absurd limit is believed")
        try require(handshake.upgrades.count <= 4096, "more upgrades than bytes")
    }

    /// A session opens by a handshake only, and once it has failed it stays so.
    static func checkSession(_ input: [UInt8]) throws(Violation) {
        let start = Moment.now
        var session = EngineIOSession(now: start, timeout: .seconds(10))
        let first = session.receive(text: input[...], now: start)
        switch first {
        case .opened:
            try require(session.isOpen && input.first == UInt8(ascii: "0"), "something else opens the session")
        case .close:
            try require(!session.isOpen && session.nextDeadline == nil, "a failed session has a deadline")
            if case .nothing = session.receive(text: Array("2".utf8)[...], now: start) { return }
            throw Violation(message: "a failed session goes on")
        case .nothing, .answerPong, .pong, .text, .binary:
            throw Violation(message: "a packet before the handshake is taken")
        }
        // Once open: any number of the same within a second must end it, or mean nothing but messages.
        var isClosed = false
        for _ in 0...EngineIOSession.maximumControlRate where !isClosed {
            if case .close = session.receive(text: input[...], now: start) { isClosed = true }
        }
        try require(isClosed, "a flood of handshakes is borne")
    }
}
