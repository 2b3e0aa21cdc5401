public import Linkspan

/// The set of members of a room, kept over any connection from the server's events.
///
/// ```swift
/// let people = try PresenceSet<String>(
///     over: connection, joined: "joined", left: "left",
///     entry: { ("who", try Payload(["room": "lobby"])) }
/// ) { difference in
///     for name in difference.joined { print("\(name) is here") }
/// }
/// ```
///
/// With each new session, and wherever messages were dropped, it enters again: it asks the server for all members and tells the
/// difference to what it knew. Joins and leaves meanwhile are not lost, in any order. A session that the server resumed has
/// missed nothing, so that nothing is asked. While the connection is down the members stay as they were, and ``isComplete`` is false.
public final class PresenceSet<Member: Hashable & Sendable>: Sendable {
    private struct State: Sendable {
        var roster = PresenceRoster<Member>()
        var lastError: LinkspanError?
    }

    private let connection: any Connection
    private let entry: (@Sendable () throws -> (event: String, arguments: Payload))?
    private let member: @Sendable (Message) throws -> Member?
    private let list: @Sendable (Payload) throws -> [Member]?
    private let onChange: @Sendable (PresenceDifference<Member>) -> Void
    private let state = Guarded(State())

    /// Begins to follow a room, and enters it if the connection is up.
    ///
    /// - Parameters:
    ///   - connection: the connection; it is held until ``end()``.
    ///   - joined: the event for a member who joined.
    ///   - left: the event for a member who left.
    ///   - all: the event with all members, for servers that send it by themselves.
    ///   - entry: makes the request whose answer has all members, at each entry; nil for servers that send `all`.
    ///   - member: reads the member of a message; nil when it is about another room.
    ///   - members: reads all members of an answer, or of the event `all`; nil when it is about another room.
    ///   - onChange: gets each difference, in order, on the connection's executor.
    /// - Throws: `LinkspanError` with code `released`.
    public init(
        over connection: any Connection, joined: String, left: String, all: String? = nil,
        entry: (@Sendable () throws -> (event: String, arguments: Payload))? = nil,
        member: @escaping @Sendable (Message) throws -> Member?,
        members: @escaping @Sendable (Payload) throws -> [Member]?,
        onChange: @escaping @Sendable (PresenceDifference<Member>) -> Void = { _ in }
    ) throws(LinkspanError) {
        (self.connection, self.entry) = (connection, entry)
        (self.member, self.list, self.onChange) = (member, members, onChange)
        try self.listen(to: joined) { $0.hear($1, isIn: true) }
        try self.listen(to: left) { $0.hear($1, isIn: false) }
        if let all {
            self.state.own(
                try connection.subscribe(to: all, once: false, onMark: nil) { [weak self] message in
                    guard let self, let members = try? self.list(message.payload) else { return }
                    self.change { $0.replace(by: Set(members)) }
                })
        }
        self.state.own(connection.onStateChange { [weak self] in self?.follow($0) })
    }

    /// The members as far as they are known.
    public var members: Set<Member> { self.state.withLock { $0.roster.members } }

    /// Whether nothing may be missing.
    public var isComplete: Bool { self.state.withLock { $0.roster.isComplete } }

    /// The reason the latest entry failed, or nil when it did not; the next session enters again.
    public var lastError: LinkspanError? { self.state.withLock { $0.lastError } }

    /// Enters again: for servers that tell by other means that something was missed.
    public func refresh() { self.enter() }

    /// Ends the set; nothing is reported afterwards.
    public func end() { self.state.end() }
}

extension PresenceSet where Member: Decodable {
    /// Begins to follow a room whose events have the member as their argument, and whose answers have the list of members; see
    /// ``init(over:joined:left:all:entry:member:members:onChange:)``.
    public convenience init(
        over connection: any Connection, joined: String, left: String, all: String? = nil,
        entry: (@Sendable () throws -> (event: String, arguments: Payload))? = nil,
        onChange: @escaping @Sendable (PresenceDifference<Member>) -> Void = { _ in }
    ) throws(LinkspanError) {
        try self.init(
            over: connection, joined: joined, left: left, all: all, entry: entry,
            member: { try $0.decode(Member.self) }, members: { try $0.decode([Member].self) }, onChange: onChange)
    }
}

// MARK: - What happens

extension PresenceSet {
    private func listen(
        to event: String,
        _ hear: @escaping @Sendable (inout PresenceRoster<Member>, Member) -> PresenceDifference<Member>?
    ) throws(LinkspanError) {
        self.state.own(
            try self.connection.subscribe(to: event, once: false, onMark: { [weak self] in self?.note($0) }) {
                [weak self] message in
                guard let self, let member = try? self.member(message) else { return }
                self.change { hear(&$0, member) }
            })
    }

    /// A new session is a change of state, reported once for all events.
    private func note(_ mark: Continuity) {
        guard case .gap(.overflow) = mark else { return }
        self.state.withLock { $0.roster.interrupt() }
        self.enter()
    }

    private func follow(_ change: StateChange) {
        guard change.to == .connected else { return self.state.withLock { $0.roster.pause() } }
        let isResumed = self.state.withLock { state in
            if change.continuity == .continuous, state.roster.resume() { return true }
            state.roster.interrupt()
            return false
        }
        if !isResumed { self.enter() }
    }

    private func enter() {
        guard let entry else { return }
        let number = self.state.withLock { $0.roster.ask() }
        do {
            let (event, arguments) = try entry()
            // By the completion, which comes in one order with the events.
            try self.connection.perform(
                Command(.request, event: event, payload: arguments) { [weak self] outcome in
                    self?.entered(number, outcome)
                })
        } catch {
            self.fail(error)
        }
    }

    private func entered(_ number: UInt64, _ outcome: Result<Payload, LinkspanError>) {
        do {
            guard let members = try self.list(try outcome.get()) else { return }
            self.state.withLock { $0.lastError = nil }
            self.change { $0.answer(number, members) }
        } catch {
            self.fail(error)
        }
    }

    private func fail(_ error: any Error) {
        let error = error as? LinkspanError ?? LinkspanError(.refused, "the room was not entered", cause: error)
        self.state.withLock { $0.lastError = error }
    }

    private func change(_ body: (inout PresenceRoster<Member>) -> PresenceDifference<Member>?) {
        if let difference = self.state.beforeEnd({ body(&$0.roster) }) ?? nil { self.onChange(difference) }
    }
}
