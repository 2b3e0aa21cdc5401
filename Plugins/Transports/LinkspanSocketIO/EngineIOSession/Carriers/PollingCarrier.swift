internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanWebSocketProtocol

/// Carries packets in the bodies of HTTP requests and their answers: a GET that the server holds until it has something
/// to say, and a POST whenever this side has.
final class PollingCarrier: EngineCarrier {
    private enum Phase: Equatable {
        case idle
        /// The first GET is on its way: the handshake.
        case opening
        case open
        /// Given up by this side, which waits until the server knows of it.
        case givenUp
        case ended
    }

    private static let closeDeadline = Duration.seconds(5)
    /// The time for telling the server that a session has failed, before the failure is reported.
    private static let lossDeadline = Duration.seconds(2)
    /// The most bytes of the handshake's answer.
    private static let handshakeLimit = 1 << 20
    /// The most bytes of an answer that is taken apart while it comes; its deadline ends it long before.
    private static let streamedLimit = 1 << 30

    private let key: EngineKey
    private let requests: PollingRequests
    private let loop: any NetworkLoop
    private let handler: any EngineCarrierHandler
    private var phase = Phase.idle
    private var session: PollingSession
    /// Takes the answer to the last GET apart.
    private var decoder: PollingDecoder
    /// Whether the loop will look for something to begin without being asked.
    private var isPumpDue = false
    private var onQuiet: (() -> Void)?
    private var goodbye: (any ScheduledWork)?
    /// The reason for the end that this side is about to report.
    private var reason = LinkspanError(.connectionLost, "closed by this side")
    /// Whether it polls once, to learn why the server takes no WebSocket, and then ends.
    private let isQuestion: Bool

    init(
        _ key: EngineKey, isQuestion: Bool = false, loop: any NetworkLoop,
        handler: any EngineCarrierHandler, salt: UInt64 = .random(in: .min ... .max)
    ) {
        self.key = key
        self.requests = PollingRequests(key, salt: salt, loop: loop)
        self.isQuestion = isQuestion
        self.loop = loop
        self.handler = handler
        self.session = PollingSession(version: key.version, highWaterMark: key.configuration.highWaterMark)
        self.decoder = PollingDecoder(for: key)
    }

    func open() {
        guard self.phase == .idle else { return }
        self.phase = .opening
        self.poll()
        guard self.isQuestion else { return }
        self.reason = LinkspanError(.connectionLost, "the server twice ended a WebSocket without an answer")
        self.beginGivingUp()
    }

    func sessionOpened(_ handshake: EngineIOHandshake) {
        if self.phase == .opening {
            self.phase = .open
            self.requests.sid = handshake.sid
            // Above what a server holds a poll back for: then the heartbeat decides, which knows better.
            self.requests.deadline = handshake.patience + .seconds(10)
            if let most = handshake.maxPayload { self.session.maximumPayload = most }
        }
        self.requestPump()
    }

    var name: String { "polling" }

    var lastHeard: Moment? { self.requests.lastHeard }

    /// The cookies for a request that takes the session elsewhere.
    var cookie: String? { self.requests.cookie }

    var isReceiving: Bool { self.session.isReadingPaused || self.decoder.hasPart }

    var hasPendingBytes: Bool { self.phase == .open && self.session.hasUnposted }

    var tellsServerOfAbort: Bool { true }

    var openingStage: OpeningStage? { self.phase == .opening ? self.requests.poll?.openingStage : nil }

    func length(ofText count: Int) -> Int { self.session.length(ofText: count) }

    func length(ofAttachment count: Int) -> Int { self.session.length(ofAttachment: count) }

    func send(
        _ opcode: Opcode, length: Int, attachments: [ArraySlice<UInt8>], isCompressible: Bool,
        write: (inout ByteWriter) -> Void
    ) -> SendAcceptance {
        var payload: [UInt8] = []
        payload.append(upTo: length, write)
        let first = opcode == .text ? WebSocketMessage.text(payload[...]) : .binary(payload[...])
        let acceptance = self.session.enqueue(
            [first] + attachments.map { .binary($0) }, isCompressible: isCompressible)
        self.requestPump()
        return acceptance
    }

    func close() {
        // As a job: the packets that came with the opening may be on their way up, and among them the handshake,
        // without which there is nobody to say goodbye to.
        self.loop.executeLocally {
            guard self.phase == .open else { return self.giveUp() }
            self.sayGoodbye()
            self.pump()
        }
    }

    /// Posts what waits, and the end of the session behind it.
    private func sayGoodbye() {
        guard self.goodbye == nil else { return }
        self.session.close()
        self.limitGoodbye()
    }

    /// Ends the session when the server has answered nothing for a while.
    private func limitGoodbye(_ deadline: Duration = PollingCarrier.closeDeadline) {
        self.goodbye?.cancel()
        self.goodbye = self.loop.scheduleLocally(after: deadline) { self.end() }
    }

    func abort() { self.loop.executeLocally { self.giveUp() } }

    func setReadingPaused(_ isPaused: Bool) {
        self.session.isReadingPaused = isPaused
        // An answer may have millions of packets.
        self.requests.poll?.setReadingPaused(isPaused)
        if !isPaused { self.requestPump() }
    }
}

// MARK: - Handing the session over

extension PollingCarrier {
    /// Begins no further request; `onQuiet` is called when none is under way, unless polling ends or resumes before.
    func pause(_ onQuiet: @escaping () -> Void) {
        self.session.pause()
        self.onQuiet = onQuiet
        self.requestPump()
    }

    /// Polls on after ``pause(_:)``.
    func resume() {
        self.session.resume()
        self.onQuiet = nil
        self.requestPump()
    }

    /// Ends silently, and lets `successor` send what was not posted.
    func handOver(to successor: WebSocketCarrier) {
        self.phase = .ended
        self.goodbye?.cancel()
        successor.takeOver(self.session.handOver())
    }
}

// MARK: - Requests

extension PollingCarrier {
    private func requestPump() {
        guard !self.isPumpDue else { return }
        self.isPumpDue = true
        self.loop.executeLocally {
            self.isPumpDue = false
            self.pump()
        }
    }

    /// Begins what may be begun.
    private func pump() {
        guard self.phase == .open else { return }
        let requests = self.session.next()
        var onQuiet: (() -> Void)?
        if self.session.isQuiet { swap(&onQuiet, &self.onQuiet) }
        for request in requests {
            switch request {
            case .poll: self.poll()
            case .post(let packets): self.post(packets) { self.posted($0) }
            }
        }
        onQuiet?()
        if self.phase == .open, self.session.isClosed { self.end() }
    }

    private func poll() {
        guard self.phase != .opening else {
            return self.requests.get(limit: Self.handshakeLimit) { self.opened($0) }
        }
        self.requests.get(limit: self.answerLimit) { part in
            self.requests.heard()
            self.take { decoder throws(SocketIOProtocolError) in try decoder.receive(part) }
        } completion: {
            self.polled($0)
        }
    }

    private func post(_ packets: [WebSocketMessage], _ completion: @escaping (PollingRequests.Result) -> Void) {
        var body: [UInt8] = []
        switch self.key.version {
        case .v4: PollingPayload.append(packets, to: &body)
        case .v3: LegacyPollingPayload.append(packets, to: &body)
        }
        self.requests.post(body, limit: Self.handshakeLimit, completion: completion)
    }

    /// The most bytes of an answer, in which a server sends all that has waited for the poll.
    ///
    /// Its packets are bounded one by one as they come. Where they are gathered first, there is room for a message in
    /// base64 and small ones beside it.
    private var answerLimit: Int {
        switch self.key.version {
        case .v4: Self.streamedLimit
        case .v3: self.key.configuration.maximumMessageBytes / 3 * 4 + 65_536
        }
    }

    /// The handshake is there.
    private func opened(_ result: PollingRequests.Result) {
        guard self.phase == .opening else { return self.openedTooLate(result) }
        do {
            let packets = try self.packets(of: PollingAnswer.body(of: result, isFirst: true))
            self.handler.opened()
            self.handler.received(packets)
        } catch {
            self.end(error)
        }
    }

    private func polled(_ result: PollingRequests.Result) {
        guard self.phase == .open else { return }
        do {
            _ = try PollingAnswer.body(of: result, isFirst: false)
        } catch {
            return self.lose(error)
        }
        self.session.polled()
        self.take { decoder throws(SocketIOProtocolError) in try decoder.finish() }
        self.pump()
    }

    /// Hands on the packets that are complete.
    private func take(_ body: (inout PollingDecoder) throws(SocketIOProtocolError) -> [WebSocketMessage]) {
        guard self.phase == .open else { return }
        do throws(SocketIOProtocolError) {
            let packets = try body(&self.decoder)
            if !packets.isEmpty { self.handler.received(packets) }
        } catch {
            self.lose(LinkspanError(error))
        }
    }

    private func packets(of body: [UInt8]) throws(LinkspanError) -> [WebSocketMessage] {
        if self.key.version == .v4, LegacyPollingPayload.isHandshake(body[...]) {
            throw LinkspanError(.unsupportedVersion, "the server speaks Engine.IO v3: \(PollingAnswer.advice)")
        }
        do throws(SocketIOProtocolError) {
            var decoder = PollingDecoder(for: self.key)
            return try decoder.receive(body) + decoder.finish()
        } catch {
            throw LinkspanError(error)
        }
    }

    private func posted(_ result: PollingRequests.Result) {
        guard self.phase == .open else { return }
        do {
            _ = try PollingAnswer.body(of: result, isFirst: false)
            if self.session.posted() { self.handler.writable() }
        } catch  where error.code == .messageRefused {
            if let packet = self.session.refused() {
                self.reason = PollingAnswer.tooLarge(packet, error)
                // The server waits for an attachment without which it takes nothing more; otherwise the rest still leaves.
                guard packet.head == nil else { return self.giveUp(within: Self.lossDeadline) }
                self.sayGoodbye()
            }
        } catch {
            return self.lose(error)
        }
        if self.goodbye != nil { self.limitGoodbye() }
        self.pump()
    }

    /// Ends a session that has failed.
    ///
    /// The server is notified first, unless it has ended the session itself: it lets no other session resume one that
    /// it counts as alive.
    private func lose(_ error: LinkspanError) {
        guard self.goodbye == nil else { return self.end() }
        let isKnown = (error.cause as? ByteStreamError)?.status.map { $0 < 500 } ?? false
        self.reason = self.session.mayBeTooLarge ? PollingAnswer.suspecting(error) : error
        isKnown ? self.end() : self.giveUp(within: Self.lossDeadline)
    }

    /// Reports the end, for ``reason`` or another one.
    private func end(_ error: LinkspanError? = nil) {
        guard self.phase != .ended else { return }
        // What a session that was given up still has to say goes on, though nobody waits for it any longer.
        if self.phase != .givenUp { self.requests.cancel() }
        self.phase = .ended
        self.session.end()
        self.onQuiet = nil
        self.goodbye?.cancel()
        self.handler.closed(error ?? self.reason)
    }
}

// MARK: - Giving the session up

extension PollingCarrier {
    /// Drops what was not sent, and ends when the server knows of it: one that is not told keeps the session until its
    /// heartbeat is missed.
    private func giveUp(within limit: Duration = PollingCarrier.closeDeadline) {
        switch self.phase {
        case .opening where self.mayBecomeSession:
            // The answer is heard out: only then is there a session to be ended.
            self.beginGivingUp()
        case .open where self.goodbye == nil:
            self.requests.cancel()
            self.beginGivingUp(within: limit)
            self.endSession()
        case .givenUp: ()
        case .idle, .opening, .open, .ended: self.end()
        }
    }

    private func beginGivingUp(within limit: Duration = PollingCarrier.closeDeadline) {
        self.phase = .givenUp
        self.session.end()
        self.onQuiet = nil
        self.limitGoodbye(limit)
    }

    /// Whether the handshake request may have been sent: the server may then open a session.
    private var mayBecomeSession: Bool {
        guard let handshake = self.requests.poll else { return false }
        return switch handshake.openingStage {
        // The request is not on its way, and is not sent when the exchange is cancelled.
        case .resolving?, .connecting?, .proxy?, .tls?: false
        case .upgrade?, .answer?, nil: true
        }
    }

    /// Nobody wants the session any more that the server has just made, or has not.
    private func openedTooLate(_ result: PollingRequests.Result) {
        do {
            let packets = try self.packets(of: PollingAnswer.body(of: result, isFirst: true))
            guard case .text(let text)? = packets.first, text.first == UInt8(ascii: "0"),
                let handshake = try? EngineIOHandshake(json: text.dropFirst())
            else { return self.sessionEnded() }
            self.requests.sid = handshake.sid
            if self.isQuestion { self.reason.message += ", but answers polls: \(WebSocketCarrier.advice)" }
        } catch {
            if self.isQuestion { self.reason = error }
            return self.sessionEnded()
        }
        if self.phase == .givenUp { self.limitGoodbye() }
        self.endSession()
    }

    /// Reports the end of the session to the server.
    private func endSession() {
        self.requests.deadline = Self.closeDeadline
        self.post([.text([UInt8(ascii: "1")])]) { _ in self.sessionEnded() }
    }

    /// The server has answered the end of the session, or there is none to be ended.
    private func sessionEnded() {
        if self.phase == .givenUp { self.end() }
    }
}

extension PollingDecoder {
    fileprivate init(for key: EngineKey) {
        self.init(version: key.version, maximumBytes: key.configuration.maximumMessageBytes)
    }
}
