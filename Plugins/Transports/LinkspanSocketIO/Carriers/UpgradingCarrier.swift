internal import Linkspan
internal import LinkspanLWS
internal import LinkspanRuntime
internal import LinkspanWebSocketClient

/// Begins with polling, and changes to a WebSocket as soon as one has proved itself.
final class UpgradingCarrier: EngineCarrier {
    private struct State: Sendable {
        var probe = UpgradeProbe()
        var polling: PollingCarrier?
        var candidate: WebSocketCarrier?
        var deadline: LoopTimer?
        var isReadingPaused = false
    }

    /// What reference servers allow an upgrade to take.
    private static let upgradeDeadline = Duration.seconds(10)

    private let request: CarrierRequest
    private let loop: EventLoop
    private let handler: any EngineCarrierHandler
    private let state = Lock(State())

    init(_ request: CarrierRequest, loop: EventLoop, handler: any EngineCarrierHandler) {
        self.request = request
        self.loop = loop
        self.handler = handler
    }

    func open() {
        let polling = PollingCarrier(self.request, loop: self.loop, handler: PollingEnd(carrier: self))
        self.state.withLock { $0.polling = polling }
        polling.open()
    }

    func send(
        expectedLength: Int, attachments: [ArraySlice<UInt8>], write: (inout [UInt8]) -> Void
    ) -> WebSocketChannel.SendResult {
        self.current?.send(expectedLength: expectedLength, attachments: attachments, write: write) ?? .notOpen
    }

    func send(_ messages: [WebSocketMessage]) -> WebSocketChannel.SendResult {
        self.current?.send(messages) ?? .notOpen
    }

    func sessionOpened(_ handshake: EngineIOHandshake) {
        self.state.withLock { $0.polling }?.sessionOpened(handshake)
        let action = self.state.withLock { $0.probe.sessionOpened(upgrades: handshake.upgrades) }
        if action == .openCandidate { self.openCandidate(sid: handshake.sid) }
    }

    func close() {
        self.loop.execute {
            self.act(self.state.withLock { $0.probe.abandon() })
            self.current?.close()
        }
    }

    func abort() {
        self.loop.execute {
            self.act(self.state.withLock { $0.probe.abandon() })
            self.current?.abort()
        }
    }

    func pauseReading() {
        self.state.withLock { $0.isReadingPaused = true }
        self.current?.pauseReading()
    }

    func resumeReading() {
        self.state.withLock { $0.isReadingPaused = false }
        self.current?.resumeReading()
    }

    /// What has the session.
    private var current: (any EngineCarrier)? {
        self.state.withLock { state -> (any EngineCarrier)? in
            state.probe.isUpgraded ? state.candidate : state.polling
        }
    }
}

// MARK: - The upgrade, on the loop's thread

extension UpgradingCarrier {
    private func openCandidate(sid: String) {
        guard let polling = self.state.withLock({ $0.polling }) else { return }
        let request = self.request.webSocket(sid: sid, cookie: polling.cookie, deadline: Self.upgradeDeadline)
        let candidate = WebSocketCarrier(
            request, version: self.request.version, loop: self.loop, handler: CandidateEnd(carrier: self))
        let deadline = self.loop.schedule(after: Self.upgradeDeadline) { [weak self] in
            guard let self else { return }
            self.act(self.state.withLock { $0.probe.deadlinePassed() })
        }
        self.state.withLock { state in
            state.candidate = candidate
            state.deadline = deadline
        }
        candidate.open()
    }

    private func act(_ action: UpgradeProbe.Action) {
        let (polling, candidate) = self.state.withLock { ($0.polling, $0.candidate) }
        switch action {
        case .nothing, .openCandidate, .switchOver, .handOn, .end: ()
        case .sendProbe: candidate?.send("2probe".utf8)
        case .pausePolling:
            polling?.pause { [weak self] in self?.switchOver() }
        case .abandon:
            self.state.withLock { state in
                state.candidate = nil
                state.deadline?.cancel()
                state.deadline = nil
            }
            candidate?.abort()
            polling?.resume()
        }
    }

    private func switchOver() {
        let (polling, candidate) = self.state.withLock { ($0.polling, $0.candidate) }
        guard let polling, let candidate else { return }
        candidate.send("5".utf8)
        // Until the next line is done, senders still come to the polling carrier, which passes on in order.
        polling.handOver(to: candidate)
        let isReadingPaused = self.state.withLock { state in
            _ = state.probe.pollingIsQuiet()
            state.polling = nil
            state.deadline?.cancel()
            state.deadline = nil
            return state.isReadingPaused
        }
        if isReadingPaused { candidate.pauseReading() }
    }

    fileprivate func pollingClosed(_ error: LinkspanError) {
        guard self.state.withLock({ $0.probe.pollingClosed() }) == .end else { return }
        let (candidate, deadline) = self.state.withLock { state in
            defer {
                state.polling = nil
                state.candidate = nil
            }
            return (state.candidate, state.deadline)
        }
        deadline?.cancel()
        candidate?.abort()
        self.handler.carrierClosed(error)
    }

    fileprivate func candidateOpened() { self.act(self.state.withLock { $0.probe.candidateOpened() }) }

    fileprivate func candidateReceived(_ packets: [WebSocketMessage]) {
        let action = self.state.withLock { $0.probe.candidateReceived(packets) }
        action == .handOn ? self.handler.carrierReceived(packets) : self.act(action)
    }

    fileprivate func candidateDrained() {
        if self.state.withLock({ $0.probe.isUpgraded }) { self.handler.carrierDrained() }
    }

    fileprivate func candidateClosed(_ error: LinkspanError) {
        let action = self.state.withLock { $0.probe.candidateClosed() }
        guard action == .end else { return self.act(action) }
        self.state.withLock { $0.candidate = nil }
        self.handler.carrierClosed(error)
    }

    fileprivate var outer: any EngineCarrierHandler { self.handler }
}

/// Hears the polling carrier.
private final class PollingEnd: EngineCarrierHandler {
    private let carrier: UpgradingCarrier

    init(carrier: UpgradingCarrier) { self.carrier = carrier }

    func carrierOpened() { self.carrier.outer.carrierOpened() }
    func carrierReceived(_ packets: [WebSocketMessage]) { self.carrier.outer.carrierReceived(packets) }
    func carrierDrained() { self.carrier.outer.carrierDrained() }
    func carrierClosed(_ error: LinkspanError) { self.carrier.pollingClosed(error) }
}

/// Hears the WebSocket that is tried, and later the one that has the session.
private final class CandidateEnd: EngineCarrierHandler {
    private let carrier: UpgradingCarrier

    init(carrier: UpgradingCarrier) { self.carrier = carrier }

    func carrierOpened() { self.carrier.candidateOpened() }
    func carrierReceived(_ packets: [WebSocketMessage]) { self.carrier.candidateReceived(packets) }
    func carrierDrained() { self.carrier.candidateDrained() }
    func carrierClosed(_ error: LinkspanError) { self.carrier.candidateClosed(error) }
}
