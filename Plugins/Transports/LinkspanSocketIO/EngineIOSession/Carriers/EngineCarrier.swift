internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanWebSocketProtocol

/// Carries the packets of one Engine.IO session: as frames of a WebSocket, or in the bodies of polls.
///
/// A packet is what a WebSocket has in a frame, whatever carries it: a text with its type, or the bytes of an
/// attachment. All methods are called on the loop, and none calls the handler.
protocol EngineCarrier: AnyObject {
    /// The current carrier, by its name in the protocol.
    var name: String { get }

    /// The time at which anything last came, be it a part of a packet.
    var lastHeard: Moment? { get }

    /// Whether a packet has begun to come and is not complete, or nothing is read for now.
    var isReceiving: Bool { get }

    /// Whether anything that was taken is still here: the system, or over polling the server, does not have it.
    var hasPendingBytes: Bool { get }

    /// Whether another carrier may soon be in the place of this one, which has other limits.
    var isChanging: Bool { get }

    /// Whether ``abort()`` closes the session on the server, and reports the end only after the server's answer.
    var tellsServerOfAbort: Bool { get }

    /// The stage of the opening; nil when the server has named the session.
    var openingStage: OpeningStage? { get }

    /// The number of bytes that a text takes, of those that the server allows.
    func length(ofText count: Int) -> Int

    /// The number of bytes that an attachment takes, of those that the server allows.
    func length(ofAttachment count: Int) -> Int

    /// Begins to connect. Called once.
    func open()

    /// Sends a packet whose payload, of so many bytes, `write` writes, and its attachments right behind it with nothing between.
    func send(
        _ opcode: Opcode, length: Int, attachments: [ArraySlice<UInt8>], isCompressible: Bool,
        write: (inout ByteWriter) -> Void
    ) -> SendAcceptance

    /// The server has named the session and its rules.
    func sessionOpened(_ handshake: EngineIOHandshake)

    /// Sends what was taken, says goodbye, then ends. Bounded in time.
    func close()

    /// Ends at once, without what was not sent; see ``tellsServerOfAbort``.
    func abort()

    /// Calls `onAnswer` when the server has proved that it has read everything; a server may answer no pings.
    ///
    /// - Returns: false when the carrier knows by itself what the server has.
    func ping(_ onAnswer: @escaping () -> Void) -> Bool

    /// Stops reading, so that the server is slowed down, or reads on.
    func setReadingPaused(_ isPaused: Bool)
}

extension EngineCarrier {
    func length(ofText count: Int) -> Int { count }

    var isChanging: Bool { false }

    var tellsServerOfAbort: Bool { false }

    func ping(_ onAnswer: @escaping () -> Void) -> Bool { false }

    /// Calls `body` when nothing that was taken is still here, or at the limit.
    func afterFlush(until limit: Moment, on loop: any NetworkLoop, _ body: @escaping () -> Void) {
        guard self.hasPendingBytes, limit > loop.moment else { return body() }
        _ = loop.scheduleLocally(after: .milliseconds(2)) { self.afterFlush(until: limit, on: loop, body) }
    }

    /// Sends frames with nothing between them; all but the first are binary.
    @discardableResult
    func send(_ messages: [WebSocketMessage], isCompressible: Bool = true) -> SendAcceptance {
        guard let first = messages.first?.bytes, let opcode = messages.first?.opcode else { return .refused }
        let attachments = messages.dropFirst().map(\.bytes)
        return self.send(
            opcode, length: first.count, attachments: attachments, isCompressible: isCompressible
        ) { $0.append(contentsOf: first) }
    }
}

/// A handler of a carrier's events.
///
/// All calls come on the loop, one at a time and in order, and never from inside a call of the carrier.
protocol EngineCarrierHandler: AnyObject {
    /// Packets may be sent, and come.
    func opened()

    /// Packets have come: all of one read, of which each is taken when it is asked for.
    ///
    /// - Parameter next: the next packet; nil when there is none. Has to be called until then.
    func received(_ next: () -> WebSocketMessage?)

    /// Another carrier is in the place of the former one.
    func changed()

    /// There is room again after `full`.
    func writable()

    /// The carrier has ended; called exactly once, last, whatever happened.
    func closed(_ error: LinkspanError)
}

extension EngineCarrierHandler {
    /// Packets that are there already have come.
    func received(_ packets: [WebSocketMessage]) {
        var iterator = packets.makeIterator()
        self.received { iterator.next() }
    }
}
