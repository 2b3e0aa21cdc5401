/// Decides what an event means for an attempt and for the stream it becomes.
///
/// Libraries report one ending in up to three ways, or in none at all, and late: the first thing that ends an attempt
/// decides, and everything after it is ignored.
package struct StreamStateMachine {
    private enum State {
        case resolving
        indirect case dialing(Race)
        case upgrading
        case open
        /// The last bytes are being sent.
        case finishing
        /// All is sent and said to be all; the peer's end is awaited, or closing could destroy what it has not
        /// read.
        case lingering
        case ended
    }

    /// The host's addresses on the way to one TCP connection.
    private struct Race {
        /// The addresses that were not dialed yet.
        var rest: ArraySlice<String>
        /// The number of dialed addresses that have neither answered nor failed, the winner included.
        var pending = 0
        /// Whether one has answered, so that no other is dialed.
        var isWon = false
        /// The reason the winner's certificate was rejected.
        var rejection: ByteStreamError?
    }

    /// The time after which the next address is dialed beside those before (RFC 8305 section 5).
    package static let attemptDelay = Duration.milliseconds(250)

    /// The bytes of an answer that restart the deadline of its exchange.
    package static let exchangeProgress = 64 << 10

    private var state = State.resolving
    /// The bytes of an exchange's answer that have come since its deadline began.
    private var progress = 0
    /// Whether the answer is a body, whatever its status, and not a stream.
    package let isExchange: Bool

    package init(isExchange: Bool = false) { self.isExchange = isExchange }

    /// A stream that the other side opened: it is open from the start.
    package static var accepted: Self {
        var machine = Self()
        machine.state = .open
        return machine
    }
}

extension StreamStateMachine {
    package enum OnDial {
        /// Dial `address`; `others` more could be tried.
        case dial(address: String, others: Int)
        case end(ByteStreamError)
        case ignore
    }

    package enum OnHead { case open, end(ByteStreamError), ignore }

    package enum OnFinish { case flush, end(ByteStreamError), ignore }

    package var isOpen: Bool { if case .open = self.state { true } else { false } }

    /// Whether addresses are dialed, and none has answered.
    package var isRacing: Bool { if case .dialing(let race) = self.state { !race.isWon } else { false } }

    package var isFinishing: Bool { if case .finishing = self.state { true } else { false } }

    /// Whether the body of the request may be written: its head was, and there is no answer yet.
    package var isSendingBody: Bool { if case .upgrading = self.state { self.isExchange } else { false } }

    package mutating func resolved(_ result: Result<[String], ByteStreamError>) -> OnDial {
        guard case .resolving = self.state else { return .ignore }
        switch result {
        case .failure(let error): return self.end(error)
        case .success(let addresses):
            guard !addresses.isEmpty else {
                return self.end(ByteStreamError(.nameNotResolved, "the host name has no address"))
            }
            return self.dialNext(Race(rest: NumericAddress.interleaved(addresses)[...]), after: .hangUp)
        }
    }

    /// The request goes over a connection that is there.
    package mutating func reuses() { self.state = .upgrading }

    /// The newest address has not answered within ``attemptDelay``.
    package mutating func attemptDelayPassed() -> OnDial {
        guard case .dialing(let race) = self.state, !race.isWon, !race.rest.isEmpty else { return .ignore }
        return self.dialNext(race, after: .hangUp)
    }

    /// An address took the TCP connection: the other attempts are to be given up.
    package mutating func reached() {
        guard case .dialing(var race) = self.state else { return }
        (race.isWon, race.pending) = (true, 1)
        self.state = .dialing(race)
    }

    /// A certificate was rejected; the library's own report of it follows and names no reason.
    package mutating func rejected(_ error: ByteStreamError) {
        guard case .dialing(var race) = self.state else { return }
        race.rejection = error
        self.state = .dialing(race)
    }

    /// Returns whether the request may be sent.
    package mutating func sendsRequest() -> Bool {
        guard case .dialing(let race) = self.state, race.rejection == nil else { return false }
        self.state = .upgrading
        return true
    }

    /// An address failed, before or after TCP was there.
    package mutating func failed(_ failure: DialFailure) -> OnDial {
        switch self.state {
        case .dialing(var race):
            if let rejection = race.rejection { return self.end(rejection) }
            if case .rejected(let error) = failure { return self.end(error) }
            race.isWon = false
            race.pending -= 1
            return self.dialNext(race, after: failure)
        case .upgrading, .open, .finishing, .lingering: return self.end(failure.duringUpgrade)
        case .resolving, .ended: return .ignore
        }
    }

    package mutating func received(_ head: ResponseHead) -> OnHead {
        guard case .upgrading = self.state else { return .ignore }
        if !self.isExchange, let error = head.upgradeError { return .end(self.ended(error)) }
        self.state = .open
        return .open
    }

    /// A part of an answer has come.
    package mutating func received(byteCount: Int) {
        if self.isExchange { self.progress += byteCount }
    }

    /// The deadline passed; returns whether it restarts, because an answer makes progress or reading is paused.
    package mutating func isGettingOn(isPaused: Bool) -> Bool {
        guard self.isExchange, self.isOpen else { return false }
        defer { self.progress = 0 }
        return isPaused || self.progress >= Self.exchangeProgress
    }

    /// The answer's body is complete; for a stream that is its end.
    package mutating func completed() -> OnDial {
        guard self.isExchange, case .open = self.state else { return self.connectionClosed() }
        return self.end(ByteStreamError(.completed, "the exchange is complete"))
    }

    /// The connection is gone, without a word of failure: so ends a stream, but also a try at an odd address.
    package mutating func connectionClosed() -> OnDial {
        switch self.state {
        case .resolving, .ended: return .ignore
        case .dialing: return self.failed(.hangUp)
        case .upgrading: return self.end(DialFailure.hangUp.duringUpgrade)
        case .open: return self.end(ByteStreamError(.closedByPeer, "the connection was closed by the peer"))
        case .finishing: return self.end(ByteStreamError(.closedByPeer, "closed by the peer before all was sent"))
        case .lingering: return self.end(Self.finished)
        }
    }

    /// The stage that opening is in; nil once the stream is open or has ended.
    ///
    /// - Parameters:
    ///   - peer: what is dialed.
    ///   - dialing: what the connection that is being set up waits for.
    /// - Returns: the stage.
    package func openingStage(_ peer: OpeningStage.Peer, dialing: () -> OpeningStage) -> OpeningStage? {
        switch self.state {
        case .resolving: .resolving(peer)
        case .dialing: dialing()
        case .upgrading: self.isExchange ? .answer : .upgrade
        case .open, .finishing, .lingering, .ended: nil
        }
    }

    /// The deadline passed, when opening was in this stage.
    package mutating func deadlinePassed(in stage: OpeningStage?) -> ByteStreamError? {
        if let stage { return self.ended(ByteStreamError(timedOutIn: stage)) }
        switch self.state {
        case .finishing: return self.ended(ByteStreamError(.timedOut, "the last bytes could not be sent in time"))
        case .lingering: return self.ended(Self.finished)
        case .open where self.isExchange:
            return self.ended(ByteStreamError(.timedOut, "the answer was not complete in time"))
        case .resolving, .dialing, .upgrading, .open, .ended: return nil
        }
    }

    package mutating func finish() -> OnFinish {
        switch self.state {
        case .open:
            self.state = .finishing
            return .flush
        case .resolving, .dialing, .upgrading:
            return .end(self.ended(Self.finished))
        case .finishing, .lingering, .ended: return .ignore
        }
    }

    /// Everything has been sent; returns whether to tell the peer that it was all.
    package mutating func flushed() -> Bool {
        guard case .finishing = self.state else { return false }
        self.state = .lingering
        return true
    }

    /// More came while it is being finished than the peer can have had under way.
    package mutating func flooded() -> ByteStreamError? {
        switch self.state {
        case .finishing, .lingering: return self.ended(Self.finished)
        case .resolving, .dialing, .upgrading, .open, .ended: return nil
        }
    }

    /// Ends it from this side; nil when it had ended before.
    package mutating func abort(_ error: ByteStreamError) -> ByteStreamError? {
        if case .ended = self.state { return nil }
        return self.ended(error)
    }

    private static let finished = ByteStreamError(.closedByUs, "the stream was finished")

    /// Dials the next address at once, or waits for those that are dialed; the last failure of all is the reason.
    private mutating func dialNext(_ race: Race, after failure: DialFailure) -> OnDial {
        var race = race
        guard let address = race.rest.popFirst() else {
            guard race.pending > 0 else { return self.end(ByteStreamError(unreachable: failure.reason)) }
            self.state = .dialing(race)
            return .ignore
        }
        race.pending += 1
        self.state = .dialing(race)
        return .dial(address: address, others: race.rest.count)
    }

    private mutating func end(_ error: ByteStreamError) -> OnDial { .end(self.ended(error)) }

    private mutating func ended(_ error: ByteStreamError) -> ByteStreamError {
        self.state = .ended
        return error
    }
}
