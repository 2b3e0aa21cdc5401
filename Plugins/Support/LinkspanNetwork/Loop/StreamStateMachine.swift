/// Decides what an event means for an attempt and for the stream it becomes.
///
/// Libraries report one ending in up to three ways, or in none at all, and late: the first thing that ends an attempt
/// decides, and everything after it is ignored.
package struct StreamStateMachine {
    private enum State {
        case resolving
        case dialing(rest: ArraySlice<String>, rejection: ByteStreamError?)
        case upgrading
        case open
        /// The last bytes are being sent.
        case finishing
        /// All is sent and said to be all; the peer's end is awaited, or closing could destroy what it has not
        /// read.
        case lingering
        case ended
    }

    private var state = State.resolving
    /// Whether the answer is a body, whatever its status, and not a stream.
    private let isExchange: Bool

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

    package var isDialing: Bool { if case .dialing = self.state { true } else { false } }

    package var isFinishing: Bool { if case .finishing = self.state { true } else { false } }

    /// Whether the body of the request may be written: its head was, and there is no answer yet.
    package var isSendingBody: Bool { if case .upgrading = self.state { self.isExchange } else { false } }

    package mutating func resolved(_ result: Result<[String], ByteStreamError>) -> OnDial {
        guard case .resolving = self.state else { return .ignore }
        switch result {
        case .failure(let error): return self.end(error)
        case .success(let addresses):
            return self.dial(addresses[...], ByteStreamError(.nameNotResolved, "the host name has no address"))
        }
    }

    /// The time for one address passed; one that TCP has reached is given the whole deadline.
    package mutating func addressTimedOut(isConnected: Bool) -> OnDial {
        guard case .dialing(let rest, nil) = self.state, !isConnected, !rest.isEmpty else { return .ignore }
        return self.dial(rest, ByteStreamError(.timedOut, "no address answered in time"))
    }

    /// A certificate was rejected; the library's own report of it follows and names no reason.
    package mutating func rejected(_ error: ByteStreamError) {
        guard case .dialing(let rest, _) = self.state else { return }
        self.state = .dialing(rest: rest, rejection: error)
    }

    /// Returns whether the request may be sent.
    package mutating func sendsRequest() -> Bool {
        guard case .dialing(_, nil) = self.state else { return false }
        self.state = .upgrading
        return true
    }

    /// The library gave up on an address, before or after TCP was there.
    package mutating func failed(_ failure: DialFailure) -> OnDial {
        switch self.state {
        case .dialing(_, let rejection?): return self.end(rejection)
        case .dialing(let rest, nil):
            if case .tls(let error) = failure { return self.end(error) }
            if case .proxy = failure { return self.end(ByteStreamError(.proxyRefused, "the proxy refused")) }
            return self.dial(rest, ByteStreamError(.unreachable, "no address of the host accepted the connection"))
        case .upgrading: return self.end(failure.duringUpgrade)
        case .open, .finishing, .lingering: return self.end(failure.duringUpgrade)
        case .resolving, .ended: return .ignore
        }
    }

    package mutating func received(_ answer: UpgradeAnswer) -> OnHead {
        guard case .upgrading = self.state else { return .ignore }
        if !self.isExchange, let error = answer.error {
            self.state = .ended
            return .end(error)
        }
        self.state = .open
        return .open
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
        case .dialing: return self.failed(.connect)
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
            self.state = .ended
            return .end(Self.finished)
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

    private mutating func dial(_ addresses: ArraySlice<String>, _ otherwise: ByteStreamError) -> OnDial {
        guard let address = addresses.first else { return self.end(otherwise) }
        self.state = .dialing(rest: addresses.dropFirst(), rejection: nil)
        return .dial(address: address, others: addresses.count - 1)
    }

    private mutating func end(_ error: ByteStreamError) -> OnDial {
        self.state = .ended
        return .end(error)
    }

    private mutating func ended(_ error: ByteStreamError) -> ByteStreamError {
        self.state = .ended
        return error
    }
}
