internal import DequeModule
internal import LinkspanRuntime

/// The end of a call to a service, as its caller sees it.
enum CallOutcome<Value: Sendable>: Sendable {
    case returned(Value)
    case threw(any Error)
    /// The deadline came first; the call was cancelled and may still be going on.
    case abandoned
}

/// The state of a call to a service: whether it still counts, and for a consumer of a mailbox, the events it is to
/// handle.
///
/// Shared by the registry, the thread that runs the service, and the scope that the service was given.
final class ServiceCall: Sendable {
    private enum End: Sendable {
        case returned
        case abandoned
    }

    private struct State: Sendable {
        var end: End?
        var timers: [any ScheduledWork] = []
        var letters: Deque<Mailbox.Letter> = []
        /// The start of the present event's handling; nil between events.
        var since: ContinuousClock.Instant?
        var family: FamilyID?
        var isLate = false
        var isClosed = false
    }

    // Guards the progress of one call. The service's thread contends with the timer that limits it, never with
    // emitters.
    private let state = Lock(State())

    /// Whether the registry has given the call up.
    var isAbandoned: Bool { self.state.withLock { $0.end == .abandoned } }

    /// Cancels `timer` when the call ends.
    func keep(_ timer: any ScheduledWork) {
        let isOver = self.state.withLock { state in
            if state.end == nil { state.timers.append(timer) }
            return state.end != nil
        }
        if isOver { timer.cancel() }
    }

    /// Notes that the call has returned.
    ///
    /// - Returns: whether it counts; false after it was given up.
    func finish() -> Bool { self.end(.returned) }

    /// Gives the call up.
    ///
    /// - Returns: whether that is news; false after it has returned.
    @discardableResult
    func abandon() -> Bool { self.end(.abandoned) }

    private func end(_ end: End) -> Bool {
        let timers = self.state.withLock { state -> [any ScheduledWork]? in
            guard state.end == nil else { return nil }
            state.end = end
            defer { state.timers = [] }
            return state.timers
        }
        for timer in timers ?? [] { timer.cancel() }
        return timers != nil
    }
}

// MARK: - Handling events

extension ServiceCall {
    /// Gives the consumer events to handle.
    func fill(_ letters: [Mailbox.Letter]) {
        self.state.withLock { state in
            state.letters.append(contentsOf: letters)
        }
    }

    /// The next event, when the last one has been handled; `nil` if there is none, or none may be handed out.
    func next(now: ContinuousClock.Instant) -> Mailbox.Letter? {
        self.state.withLock { state in
            state.since = nil
            guard !state.isLate, !state.isClosed, let letter = state.letters.popFirst() else { return nil }
            state.since = now
            state.family = letter.stamped.event.familyID
            return letter
        }
    }

    /// After a receiver was late: the events it has not begun, for the next consumer.
    func takeBack() -> [Mailbox.Letter]? {
        self.state.withLock { state in
            guard state.isLate else { return nil }
            state.isLate = false
            defer { state.letters = [] }
            return Array(state.letters)
        }
    }

    /// Hands nothing out any more.
    func close() -> (left: [Mailbox.Letter], isHandling: Bool) {
        self.state.withLock { state in
            state.isClosed = true
            defer { state.letters = [] }
            return (Array(state.letters), state.since != nil)
        }
    }

    /// Whether an event is being handled.
    var isHandling: Bool { self.state.withLock { $0.since != nil } }

    enum OnCheck: Sendable {
        case late(FamilyID)
        case again(at: ContinuousClock.Instant)
    }

    /// Checks whether the handling of one event takes too long; that is reported once.
    func check(now: ContinuousClock.Instant, limit: Duration) -> OnCheck {
        self.state.withLock { state in
            guard let since = state.since, let family = state.family, !state.isLate else {
                return .again(at: now.advanced(by: limit))
            }
            guard now >= since.advanced(by: limit) else { return .again(at: since.advanced(by: limit)) }
            state.isLate = true
            return .late(family)
        }
    }
}
