internal import DequeModule
internal import LinkspanRuntime

/// The letters that one receiver is handling.
///
/// Shared by the registry and the thread that runs the receiver.
final class LetterHandling: Sendable {
    private struct State: Sendable {
        var letters: Deque<Letter> = []
        /// The instant at which the handling of the present letter began, and its family; nil between letters.
        var present: (since: ContinuousClock.Instant, family: FamilyID)?
        var isLate = false
        var isClosed = false
    }

    // Guards the letters in hand. The receiver's thread contends with the timer that limits it, never with emitters.
    private let state = Lock(State())
    /// The state of the consumer's call, which its scope shares.
    let call = ServiceCall()

    /// Gives the consumer letters to handle.
    func fill(_ letters: [Letter]) {
        self.state.withLock { $0.letters.append(contentsOf: letters) }
    }

    /// The next letter, when the last one has been handled; `nil` if there is none, or none may be handed out.
    func next(now: ContinuousClock.Instant) -> Letter? {
        self.state.withLock { state in
            state.present = nil
            guard !state.isLate, !state.isClosed, let letter = state.letters.popFirst() else { return nil }
            state.present = (now, letter.stamped.event.familyID)
            return letter
        }
    }

    /// After a receiver was late: the letters it has not begun, for the next consumer.
    func takeBack() -> [Letter]? {
        self.state.withLock { state in
            guard state.isLate else { return nil }
            state.isLate = false
            defer { state.letters = [] }
            return Array(state.letters)
        }
    }

    /// Hands nothing out any more.
    func close() -> (left: [Letter], isHandling: Bool) {
        self.state.withLock { state in
            state.isClosed = true
            defer { state.letters = [] }
            return (Array(state.letters), state.present != nil)
        }
    }

    /// Whether a letter is being handled.
    var isHandling: Bool { self.state.withLock { $0.present != nil } }

    enum OnCheck: Sendable {
        case late(FamilyID)
        case again(at: ContinuousClock.Instant)
    }

    /// Checks whether the handling of one letter takes too long; that is reported once.
    func check(now: ContinuousClock.Instant, limit: Duration) -> OnCheck {
        self.state.withLock { state in
            guard let present = state.present, !state.isLate else { return .again(at: now.advanced(by: limit)) }
            let deadline = present.since.advanced(by: limit)
            guard now >= deadline else { return .again(at: deadline) }
            state.isLate = true
            return .late(present.family)
        }
    }
}
