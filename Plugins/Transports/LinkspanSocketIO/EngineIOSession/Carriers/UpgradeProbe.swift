internal import LinkspanNetwork

/// The steps from polling to a WebSocket (engine.io-protocol §"Upgrade").
///
/// Traffic goes on over polling while the WebSocket is tried. Whatever goes wrong before the last step is no error: the
/// session stays where it is.
struct UpgradeProbe: Sendable {
    /// The next step.
    enum Action: Sendable, Equatable {
        case nothing
        /// Open the first WebSocket after the retry interval.
        case wait
        /// Open a WebSocket for the session.
        case openCandidate
        /// Send `2probe` over it.
        case sendProbe
        /// Begin no more requests, and report when none is under way.
        case pausePolling
        /// Send `5` over the WebSocket, and everything else behind it.
        case switchOver
        /// Drop the WebSocket, poll on, and open another one after the retry interval.
        case abandon
        /// Hand on what the WebSocket brought.
        case handOn
        /// The session has ended.
        case end
    }

    private enum State: Sendable { case polling, opening, probing, pausing, upgraded, abandoned, ended }

    private var state = State.polling

    /// Whether the WebSocket has the session.
    var isUpgraded: Bool { self.state == .upgraded }

    /// The server has named what it could change to.
    mutating func sessionOpened(upgrades: [String], isLater: Bool = false) -> Action {
        guard self.state == .polling, upgrades.contains("websocket") else { return .nothing }
        self.state = isLater ? .abandoned : .opening
        return isLater ? .wait : .openCandidate
    }

    /// The retry interval is over.
    mutating func tryAgain() -> Action {
        guard self.state == .abandoned else { return .nothing }
        self.state = .opening
        return .openCandidate
    }

    mutating func candidateOpened() -> Action {
        guard self.state == .opening else { return .nothing }
        self.state = .probing
        return .sendProbe
    }

    mutating func candidateReceived(_ packets: [WebSocketMessage]) -> Action {
        switch self.state {
        case .upgraded:
            return .handOn
        case .probing:
            guard packets == [.text(Array("3probe".utf8)[...])] else { return self.abandon() }
            self.state = .pausing
            return .pausePolling
        case .opening, .pausing:
            return self.abandon()
        case .polling, .abandoned, .ended:
            return .nothing
        }
    }

    mutating func pollingIsQuiet() -> Action {
        guard self.state == .pausing else { return .nothing }
        self.state = .upgraded
        return .switchOver
    }

    mutating func candidateClosed() -> Action {
        guard self.state == .upgraded else { return self.abandon() }
        self.state = .ended
        return .end
    }

    mutating func pollingClosed() -> Action {
        switch self.state {
        case .upgraded, .ended: return .nothing
        case .polling, .opening, .probing, .pausing, .abandoned:
            self.state = .ended
            return .end
        }
    }

    /// Polling is to stay.
    mutating func abandon() -> Action {
        switch self.state {
        case .opening, .probing, .pausing:
            self.state = .abandoned
            return .abandon
        case .polling:
            self.state = .abandoned
            return .nothing
        case .upgraded, .abandoned, .ended:
            return .nothing
        }
    }
}
