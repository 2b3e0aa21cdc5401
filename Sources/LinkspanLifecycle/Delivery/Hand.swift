internal import LinkspanRuntime

/// The letters that a consumer has taken out of a mailbox and hands to the receiver one after the other.
///
/// It has a lock of its own, so that a receiver does not keep the emitters and the other receivers from theirs.
final class Hand: Sendable {
    private struct State: Sendable {
        var letters = Ring<Mailbox.Letter>()
        var since: ContinuousClock.Instant?
        var family: EventFamily?
        var isLate = false
        var isClosed = false
    }

    private let state = Lock(State())

    /// Takes letters in hand.
    func fill(_ letters: [Mailbox.Letter]) {
        self.state.withLock { state in
            for letter in letters {
                state.letters.append(letter)
            }
        }
    }

    /// The next letter, when the last one has been handled; `nil` if there is none, or none may be handed out.
    func next(now: ContinuousClock.Instant) -> Mailbox.Letter? {
        self.state.withLock { state in
            state.since = nil
            guard !state.isLate, !state.isClosed, let letter = state.letters.popFirst() else {
                return nil
            }
            state.since = now
            state.family = letter.stamped.event.family
            return letter
        }
    }

    /// After a receiver was late: what is left in hand, for the next consumer.
    func takeBack() -> [Mailbox.Letter]? {
        self.state.withLock { state in
            guard state.isLate else {
                return nil
            }
            state.isLate = false
            return state.letters.takeAll()
        }
    }

    /// Hands nothing out any more.
    func close() -> (left: [Mailbox.Letter], isHandling: Bool) {
        self.state.withLock { state in
            state.isClosed = true
            return (state.letters.takeAll(), state.since != nil)
        }
    }

    /// Whether a letter is being handled.
    var isHandling: Bool { self.state.withLock { $0.since != nil } }

    enum OnCheck: Sendable {
        case late(EventFamily)
        case again(at: ContinuousClock.Instant)
    }

    /// Looks whether one letter is handled for too long; that is told once.
    func check(now: ContinuousClock.Instant, limit: Duration) -> OnCheck {
        self.state.withLock { state in
            guard let since = state.since, let family = state.family, !state.isLate else {
                return .again(at: now.advanced(by: limit))
            }
            guard now >= since.advanced(by: limit) else {
                return .again(at: since.advanced(by: limit))
            }
            state.isLate = true
            return .late(family)
        }
    }
}
