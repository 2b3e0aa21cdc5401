/// A change of a ``PresenceSet``.
public struct PresenceDifference<Member: Hashable & Sendable>: Sendable, Hashable {
    /// The members who joined.
    public var joined: [Member]
    /// The members who left.
    public var left: [Member]
    /// All members now.
    public var members: Set<Member>
    /// Whether nothing may be missing.
    public var isComplete: Bool
    /// Whether this is the first complete set: those who joined were there before.
    public var isFirst: Bool
}

/// The members of a room as a value: joined, left and whole lists come in, differences go out.
struct PresenceRoster<Member: Hashable & Sendable>: Sendable {
    typealias Difference = PresenceDifference<Member>

    private(set) var members: Set<Member> = []
    /// Whether nothing may be missing.
    private(set) var isComplete = false
    private var wasComplete = false
    /// Whether nothing was missing when the connection was last lost.
    private var wasCompleteWhenLost = false
    private var lastQuestion: UInt64 = 0
    /// The request under way, and the events of each member since it was made.
    private var question: (number: UInt64, heard: [Member: Bool])?

    /// The server is asked for all members.
    ///
    /// - Returns: the number of the question.
    mutating func ask() -> UInt64 {
        self.lastQuestion += 1
        self.question = (self.lastQuestion, [:])
        return self.lastQuestion
    }

    /// The connection is down.
    mutating func pause() {
        if self.isComplete { self.wasCompleteWhenLost = true }
        self.isComplete = false
    }

    /// The same session goes on.
    ///
    /// - Returns: whether nothing is missing.
    mutating func resume() -> Bool {
        if self.wasCompleteWhenLost { self.isComplete = true }
        return self.isComplete
    }

    /// Messages may be missing.
    mutating func interrupt() {
        self.isComplete = false
        self.wasCompleteWhenLost = false
        self.question = nil
    }

    /// Somebody has joined or left.
    mutating func hear(_ member: Member, isIn: Bool) -> Difference? {
        self.question?.heard[member] = isIn
        guard self.members.contains(member) != isIn else { return nil }
        if isIn { self.members.insert(member) } else { self.members.remove(member) }
        return self.difference(joined: isIn ? [member] : [], left: isIn ? [] : [member])
    }

    /// The server has answered a question.
    ///
    /// The list may be older or newer than the events received meanwhile. Of each member the latest counts: if it is older than the
    /// list, the list says the same.
    mutating func answer(_ number: UInt64, _ list: [Member]) -> Difference? {
        guard let question = self.question, question.number == number else { return nil }
        var members = Set(list)
        for (member, isIn) in question.heard {
            if isIn { members.insert(member) } else { members.remove(member) }
        }
        return self.replace(by: members)
    }

    /// The server sends all members unasked, in one order with joins and leaves.
    mutating func replace(by members: Set<Member>) -> Difference? {
        let (joined, left) = (members.subtracting(self.members), self.members.subtracting(members))
        let isNews = !self.isComplete || !joined.isEmpty || !left.isEmpty
        (self.members, self.isComplete, self.question) = (members, true, nil)
        defer { self.wasComplete = true }
        return isNews ? self.difference(joined: Array(joined), left: Array(left)) : nil
    }

    private func difference(joined: [Member], left: [Member]) -> Difference {
        Difference(
            joined: joined, left: left, members: self.members, isComplete: self.isComplete,
            isFirst: self.isComplete && !self.wasComplete)
    }
}
