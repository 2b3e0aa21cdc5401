internal import DequeModule
internal import LinkspanRuntime

/// The door between other threads and a connection: commands and calls on their way to its executor, the room they take,
/// and the snapshot that anybody may read.
///
/// It knows nobody: the loop takes items from it and publishes to it. The connection's only lock. It is taken once for each
/// command from another thread, once for each turn of the executor, and never while foreign code runs.
final class ConnectionInbox: Sendable {
    /// Something for the core to do.
    enum Item: Sendable {
        case command(Command, made: Moment?)
        case greeting(Command, epoch: UInt64, made: Moment)
        /// A command that was dropped on its way to make room; its payload is gone.
        case dropped(Command)
        /// A call, which is never refused.
        case call(@Sendable () -> Void)
        /// A call that was checked against the snapshot, and shows there until it has been made.
        case intent(@Sendable () -> Void)
    }

    /// Commands that may be on their way to the executor while the link takes what it gets.
    static let openLimit = BufferLimits(commands: 16_384, bytes: 16 << 20)

    struct State: Sendable {
        fileprivate(set) var executor: any JobExecutor
        var items: Deque<Item> = []
        /// Whether the executor is about to look for items.
        fileprivate var isScheduled = false
        /// The load of the items.
        var arriving = ConnectionLoad()
        /// The load of items that the executor has taken out and not dealt with yet.
        fileprivate var arrived = ConnectionLoad()
        var waiting: ConnectionLoad
        /// The sizes of commands that newer ones replace, by their keys: of those on their way, of those that the executor is
        /// dealing with, and of those that wait.
        var arrivingKeys: [String: Int] = [:]
        var arrivedKeys: [String: Int] = [:]
        var waitingKeys: [String: Int] = [:]
        /// Whether the link takes commands at once.
        var isOpen = false
        /// The facts that the executor last published.
        fileprivate var published = Boxed(ConnectionFacts())
        /// The state after the calls that are on their way.
        fileprivate var intended: Boxed<ConnectionFacts>?
        fileprivate var intents = 0
        fileprivate var lastID: UInt64 = 0
        /// The link that is being greeted.
        var greeting: UInt64?
        var destination: Destination
        /// The text that the next link would resume from.
        var resumption: Secret?
        /// The newest changes of state, the oldest first.
        fileprivate(set) var history: [StateChange] = []
        /// The open link.
        fileprivate(set) var link: LinkInfo?
        /// The time at which anything last came from the server, and the time before that.
        fileprivate(set) var lastHeard: Moment?
        fileprivate var formerlyHeard: Moment?
        var lateReplies: UInt64 = 0
        var droppedMessages = 0

        /// The state and progress to show: the one intended while a call is on its way.
        var shown: Boxed<ConnectionFacts> { self.intended ?? self.published }

        var load: ConnectionLoad { self.arriving + self.arrived + self.waiting }

        /// Something has come over the link.
        mutating func heard(at instant: Moment) {
            (self.formerlyHeard, self.lastHeard) = (self.lastHeard, instant)
        }

        /// Takes the latest time back: the link itself reported, not the server.
        mutating func unheard() { self.lastHeard = self.formerlyHeard }
    }

    /// Items on their way, room and snapshot: between callers and the executor.
    private let state: Lock<State>

    init(executor: any JobExecutor, destination: Destination, waiting: ConnectionLoad) {
        self.state = Lock(
            State(
                executor: executor, waiting: waiting, destination: destination, resumption: destination.resumption))
    }

    func withState<Result>(_ body: (inout State) -> Result) -> Result { self.state.withLock { body(&$0) } }

    /// Commands that wait to be sent and deliveries without a reply, those on their way to the executor included.
    var waitingCommands: Int { self.state.withLock { $0.load.waiting } }

    /// The latest change of state.
    var latestChange: StateChange? { self.state.withLock { $0.history.last } }

    /// A number for a listener or an observer.
    func nextID() -> UInt64 {
        self.state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
    }
}

// MARK: - On any thread

extension ConnectionInbox {
    /// Takes a command in, if there is room.
    ///
    /// - Returns: the executor, when it has to be told that something has arrived; so do the others.
    /// - Throws: `released`, `bufferFull`, `disconnected`.
    func submit(_ command: Command, made: Moment?) throws(LinkspanError) -> (any JobExecutor)? {
        try self.state.withLock { state throws(LinkspanError) in
            let dropped = try state.admit(command)
            let executor = state.append(.command(command, made: made))
            return state.append(dropped) ?? executor
        }
    }

    /// Takes commands in that belong together, if there is room for all: they arrive in one turn.
    ///
    /// - Returns: the executor to tell, and the reason why none was taken: `released`, `bufferFull`, `disconnected`.
    func submit(_ batch: [Command], made: Moment) -> (executor: (any JobExecutor)?, refusal: LinkspanError?) {
        self.state.withLock { state in
            let former = (state.arriving, state.arrivingKeys)
            var dropped: [Command] = []
            do throws(LinkspanError) {
                for command in batch { dropped += try state.admit(command) }
            } catch {
                (state.arriving, state.arrivingKeys) = former
                for victim in dropped { state.arriving.remove(victim) }
                // Those that made room for a batch that is refused in the end are gone all the same.
                return (state.append(dropped), error)
            }
            var executor: (any JobExecutor)?
            for command in batch { executor = state.append(.command(command, made: made)) ?? executor }
            return (state.append(dropped) ?? executor, nil)
        }
    }

    /// Takes a command of a greeting in, which goes before everything that waits.
    ///
    /// - Returns: the executor to tell.
    /// - Throws: `disconnected` when the greeting is over.
    func submit(greeting command: Command, epoch: UInt64, made: Moment) throws(LinkspanError) -> (any JobExecutor)? {
        try self.state.withLock { state throws(LinkspanError) in
            guard state.greeting == epoch else {
                throw LinkspanError(.disconnected, "the greeting of this link has ended", certainty: .notSent)
            }
            return state.append(.greeting(command, epoch: epoch, made: made))
        }
    }

    /// Takes a call in; never refused.
    ///
    /// - Returns: the executor to tell.
    func submit(_ call: @escaping @Sendable () -> Void) -> (any JobExecutor)? {
        self.state.withLock { $0.append(.call(call)) }
    }

    /// Checks a call against the snapshot, publishes its outcome, and takes it in.
    ///
    /// - Parameters:
    ///   - call: makes the call.
    ///   - intend: changes the snapshot to what the call will make of it; returns false when there is nothing to do.
    /// - Returns: the executor to tell.
    /// - Throws: what `intend` throws.
    func submit(
        _ call: @escaping @Sendable () -> Void, intending intend: (inout ConnectionFacts) throws(LinkspanError) -> Bool
    ) throws(LinkspanError) -> (any JobExecutor)? {
        try self.state.withLock { state throws(LinkspanError) in
            var shown = state.shown
            guard try intend(&shown.value) else { return nil }
            state.intended = shown
            state.intents += 1
            return state.append(.intent(call))
        }
    }
}

extension ConnectionInbox.State {
    /// Appends an item; returns the executor when it has to be told.
    fileprivate mutating func append(_ item: ConnectionInbox.Item) -> (any JobExecutor)? {
        self.items.append(item)
        guard !self.isScheduled else { return nil }
        self.isScheduled = true
        return self.executor
    }

    /// Appends commands that were dropped, to be reported; their payloads are of no more use.
    fileprivate mutating func append(_ dropped: [Command]) -> (any JobExecutor)? {
        var executor: (any JobExecutor)?
        for var command in dropped {
            command.payload = .empty
            executor = self.append(.dropped(command)) ?? executor
        }
        return executor
    }
}

// MARK: - On the executor

extension ConnectionInbox {
    /// Takes the items that have arrived.
    ///
    /// - Parameters:
    ///   - executor: the caller's.
    ///   - instant: when something came over the link, if that is why they are taken.
    /// - Returns: the items; nil when the connection lives on another executor.
    func takeItems(on executor: any JobExecutor, heardAt instant: Moment? = nil) -> Deque<Item>? {
        self.state.withLock { state in
            if let instant { state.heard(at: instant) }
            guard state.executor === executor else {
                // The job that was to take them runs in the wrong place.
                state.isScheduled = false
                return nil
            }
            return state.takeItems()
        }
    }

    /// Publishes how much waits, which keys have come and gone, and whether the link takes commands at once.
    func publish(_ waiting: ConnectionLoad, keys: [KeyChange], isOpen: Bool) {
        self.state.withLock { state in
            state.waiting = waiting
            for change in keys { state.waitingKeys[change.key] = change.byteCount }
            if !state.arrivedKeys.isEmpty { state.arrivedKeys = [:] }
            state.arrived = ConnectionLoad()
            state.isOpen = isOpen
        }
    }

    /// Publishes whether the link takes commands at once, in the middle of a turn.
    func publish(isOpen: Bool) { self.state.withLock { $0.isOpen = isOpen } }

    /// Publishes state and progress.
    func publish(_ facts: ConnectionFacts) { self.state.withLock { $0.published.value = facts } }

    /// Publishes a change of state.
    func note(_ change: StateChange) {
        self.state.withLock { state in
            if state.history.count == ConnectionStatus.historyLimit { state.history.removeFirst() }
            // Of most connections there is one change, and an array makes room for two.
            if state.history.isEmpty { state.history.reserveCapacity(1) }
            state.history.append(change)
            if case .established(let link) = change.reason { state.link = link } else { state.link = nil }
        }
    }

    /// Notes what is known about the open link now.
    ///
    /// - Returns: the round trip, if it is another than before.
    func note(_ link: LinkInfo) -> Duration? {
        self.state.withLock { state in
            guard let former = state.link else { return nil }
            state.link = link
            guard let measured = link.roundTrip else {
                state.link?.roundTrip = former.roundTrip
                return nil
            }
            return measured == former.roundTrip ? nil : measured
        }
    }

    /// Notes the measured round trip over the open link.
    func note(roundTrip: Duration) { self.state.withLock { $0.link?.roundTrip = roundTrip } }

    /// A call that was intended has been made, and published what it has changed.
    func intentEnded() {
        self.state.withLock { state in
            state.intents -= 1
            if state.intents == 0 { state.intended = nil }
        }
    }

    /// Follows other options from now on.
    func adopt(_ destination: Destination) {
        // The former ones are let go of outside the lock, because that may run foreign code.
        var former = destination
        self.state.withLock { swap(&$0.destination, &former) }
    }

    /// Moves the connection to another executor, at the end of a turn.
    func move(to executor: any JobExecutor) { self.state.withLock { $0.executor = executor } }
}

extension ConnectionInbox.State {
    fileprivate mutating func takeItems() -> Deque<ConnectionInbox.Item> {
        self.isScheduled = false
        var items: Deque<ConnectionInbox.Item> = []
        guard !self.items.isEmpty else { return items }
        self.arrived = self.arrived + self.arriving
        self.arriving = ConnectionLoad()
        if !self.arrivingKeys.isEmpty {
            self.arrivedKeys.merge(self.arrivingKeys) { $1 }
            self.arrivingKeys = [:]
        }
        swap(&items, &self.items)
        return items
    }
}
