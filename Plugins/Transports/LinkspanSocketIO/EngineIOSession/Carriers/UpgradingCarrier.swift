internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanWebSocketProtocol

/// Begins with polling, and changes to a WebSocket as soon as one has proved itself.
///
/// An upgrade that failed is attempted again every ten minutes: networks change and proxies are repaired during a session.
final class UpgradingCarrier: EngineCarrier {
    /// The time that reference servers allow an upgrade to take.
    private static let upgradeDeadline = Duration.seconds(10)

    private let key: EngineKey
    private let loop: any NetworkLoop
    fileprivate let handler: any EngineCarrierHandler
    private var probe = UpgradeProbe()
    private var polling: PollingCarrier?
    private var candidate: WebSocketCarrier?
    /// The deadline of the upgrade attempt under way, or the start of the next one.
    private var timer: (any ScheduledWork)?
    /// Whether the first upgrade attempt waits ten minutes, as later ones do, because a WebSocket has just failed.
    private let beginsLater: Bool
    /// The session, once it is open.
    private var sid = ""
    private var isReadingPaused = false

    init(
        _ key: EngineKey, beginsLater: Bool = false, loop: any NetworkLoop,
        handler: any EngineCarrierHandler
    ) {
        self.key = key
        self.beginsLater = beginsLater
        self.loop = loop
        self.handler = handler
    }

    func open() {
        let polling = PollingCarrier(self.key, loop: self.loop, handler: Part(of: self, isCandidate: false))
        self.polling = polling
        polling.open()
    }

    var name: String { self.current?.name ?? "" }

    var lastHeard: Moment? {
        [self.polling?.lastHeard, self.candidate?.lastHeard].compactMap { $0 }.max()
    }

    var isReceiving: Bool { self.current?.isReceiving ?? false }

    var hasPendingBytes: Bool { self.current?.hasPendingBytes ?? false }

    var isChanging: Bool { self.candidate != nil && !self.probe.isUpgraded }

    var tellsServerOfAbort: Bool { self.current?.tellsServerOfAbort ?? false }

    var openingStage: OpeningStage? { self.current?.openingStage }

    func length(ofText count: Int) -> Int { self.current?.length(ofText: count) ?? count }

    func length(ofAttachment count: Int) -> Int { self.current?.length(ofAttachment: count) ?? count }

    func send(
        _ opcode: Opcode, length: Int, attachments: [ArraySlice<UInt8>], isCompressible: Bool,
        write: (inout ByteWriter) -> Void
    ) -> SendAcceptance {
        self.current?.send(
            opcode, length: length, attachments: attachments, isCompressible: isCompressible,
            write: write)
            ?? .refused
    }

    func sessionOpened(_ handshake: EngineIOHandshake) {
        self.polling?.sessionOpened(handshake)
        self.sid = handshake.sid
        self.act(self.probe.sessionOpened(upgrades: handshake.upgrades, isLater: self.beginsLater))
    }

    func close() {
        // As a job, behind a handshake that is on its way up: what it begins is abandoned with the rest.
        self.loop.executeLocally {
            self.giveUp()
            self.current?.close()
        }
    }

    func abort() {
        self.giveUp()
        self.current?.abort()
    }

    func ping(_ onAnswer: @escaping () -> Void) -> Bool { self.current?.ping(onAnswer) ?? false }

    func setReadingPaused(_ isPaused: Bool) {
        self.isReadingPaused = isPaused
        self.current?.setReadingPaused(isPaused)
    }

    /// The carrier that has the session.
    private var current: (any EngineCarrier)? {
        self.probe.isUpgraded ? self.candidate : self.polling
    }
}

// MARK: - The upgrade

extension UpgradingCarrier {
    private func openCandidate() {
        guard let polling = self.polling else { return }
        let candidate = WebSocketCarrier(
            self.key, sid: self.sid, cookie: polling.cookie, deadline: Self.upgradeDeadline, loop: self.loop,
            handler: Part(of: self, isCandidate: true))
        self.timer = self.loop.scheduleLocally(after: Self.upgradeDeadline) {
            self.act(self.probe.abandon())
        }
        self.candidate = candidate
        candidate.open()
    }

    private func tryLater() {
        self.timer = self.loop.scheduleLocally(after: CarrierMemory.memory) { self.act(self.probe.tryAgain()) }
    }

    /// Stays with what has the session, because that is about to end, and the timer with it.
    private func giveUp() { self.act(self.probe.abandon()) }

    private func act(_ action: UpgradeProbe.Action) {
        switch action {
        case .nothing, .switchOver, .handOn, .end: ()
        case .wait: self.tryLater()
        case .openCandidate: self.openCandidate()
        case .sendProbe: self.candidate?.send([.text(Array("2probe".utf8)[...])])
        case .pausePolling: self.polling?.pause { self.switchOver() }
        case .abandon:
            let candidate = self.candidate
            self.candidate = nil
            self.endTimer()
            self.tryLater()
            candidate?.abort()
            self.polling?.resume()
            // What had to wait for the change.
            self.handler.writable()
        }
    }

    private func endTimer() {
        self.timer?.cancel()
        self.timer = nil
    }

    private func switchOver() {
        guard let polling = self.polling, let candidate = self.candidate else { return }
        candidate.send([.text([UInt8(ascii: "5")])])
        polling.handOver(to: candidate)
        _ = self.probe.pollingIsQuiet()
        self.polling = nil
        self.endTimer()
        if self.isReadingPaused { candidate.setReadingPaused(true) }
        self.handler.changed()
        // What was too large for a body of the server's may be sent now.
        self.handler.writable()
    }

    fileprivate func pollingClosed(_ error: LinkspanError) {
        guard self.probe.pollingClosed() == .end else { return }
        let candidate = self.candidate
        (self.polling, self.candidate) = (nil, nil)
        self.endTimer()
        candidate?.abort()
        self.handler.closed(error)
    }

    fileprivate func candidateOpened() { self.act(self.probe.candidateOpened()) }

    fileprivate func candidateReceived(_ next: () -> WebSocketMessage?) {
        if self.probe.isUpgraded { return self.handler.received(next) }
        var packets: [WebSocketMessage] = []
        while let packet = next() { packets.append(packet) }
        let action = self.probe.candidateReceived(packets)
        action == .handOn ? self.handler.received(packets) : self.act(action)
    }

    fileprivate func candidateClosed(_ error: LinkspanError) {
        let action = self.probe.candidateClosed()
        guard action == .end else { return self.act(action) }
        self.candidate = nil
        self.handler.closed(error)
    }
}

/// The handler of one of the carriers: the one that polls, or the WebSocket that is tried and may have the session later.
private final class Part: EngineCarrierHandler {
    private let whole: UpgradingCarrier
    private let isCandidate: Bool

    init(of whole: UpgradingCarrier, isCandidate: Bool) { (self.whole, self.isCandidate) = (whole, isCandidate) }

    func opened() { self.isCandidate ? self.whole.candidateOpened() : self.whole.handler.opened() }

    func received(_ next: () -> WebSocketMessage?) {
        self.isCandidate ? self.whole.candidateReceived(next) : self.whole.handler.received(next)
    }

    func changed() {}

    func writable() { self.whole.handler.writable() }

    func closed(_ error: LinkspanError) {
        self.isCandidate ? self.whole.candidateClosed(error) : self.whole.pollingClosed(error)
    }
}
