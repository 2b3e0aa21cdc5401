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
@usableFromInline
final class ServiceCall: Sendable {
    fileprivate enum End: Sendable {
        case returned
        case abandoned
    }

    fileprivate struct State: Sendable {
        var end: End?
        var timers: [any ScheduledWork] = []
        var letters: Deque<Mailbox.Letter> = []
        /// A part of a batch, which is handled instead of letters.
        var run: EventBatch?
        /// The instant at which the handling of the present event began, or of the first of a run; nil between events.
        var since: ContinuousClock.Instant?
        /// The number of events of runs that were begun, and the same at the last check.
        var steps = 0
        var checkedSteps = 0
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
    /// The events that a consumer handles before it asks for more.
    enum Share: Sendable {
        case letters([Mailbox.Letter])
        /// Events of one batch.
        case run(EventBatch)
    }

    /// The next event for a consumer, or the next events of one batch.
    enum Next {
        case letter(Mailbox.Letter)
        /// The events that ``ServiceCall/advance()`` counts off, all of one batch.
        case run(EventBatch)
    }

    /// Gives the consumer events to handle.
    func fill(_ share: Share) {
        self.state.withLock { state in
            switch share {
            case .letters(let letters): state.letters.append(contentsOf: letters)
            case .run(let batch): state.run = batch
            }
        }
    }

    /// The next event, or the next run of them, when the last one has been handled; `nil` if there is none, or none may
    /// be handed out.
    func next(now: ContinuousClock.Instant) -> Next? {
        self.state.withLock { state in
            state.since = nil
            guard !state.isLate, !state.isClosed else { return nil }
            if let run = state.run, run.count > 0 {
                state.since = now
                state.family = run.family
                // The first of it counts as under way from now on.
                state.checkedSteps = state.steps + 1
                return .run(run)
            }
            guard let letter = state.letters.popFirst() else { return nil }
            state.since = now
            state.family = letter.stamped.event.familyID
            state.checkedSteps = state.steps
            return .letter(letter)
        }
    }

    /// The next event of a run, when the last one has been handled; `nil` if there is none, or none may be handed out.
    @usableFromInline
    func advance() -> BatchPlace? {
        self.state.withLock { state in
            guard !state.isLate, !state.isClosed else { return nil }
            state.steps += 1
            return state.run?.advance()
        }
    }

    /// After a receiver was late: the events it has not begun, for the next consumer.
    func takeBack() -> [Share]? {
        self.state.withLock { state in
            guard state.isLate else { return nil }
            state.isLate = false
            return state.takeLeft()
        }
    }

    /// Hands nothing out any more.
    func close() -> (left: [Share], isHandling: Bool) {
        self.state.withLock { state in
            state.isClosed = true
            return (state.takeLeft(), state.since != nil)
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
            // Events of a run do not look at the clock: the present one began after the last check.
            guard state.steps == state.checkedSteps else {
                (state.since, state.checkedSteps) = (now, state.steps)
                return .again(at: now.advanced(by: limit))
            }
            state.isLate = true
            return .late(family)
        }
    }
}

extension ServiceCall.State {
    /// Takes out what was not begun.
    fileprivate mutating func takeLeft() -> [ServiceCall.Share] {
        defer { (self.letters, self.run) = ([], nil) }
        return [.letters(Array(self.letters))] + (self.run.map { [.run($0)] } ?? [])
    }
}
