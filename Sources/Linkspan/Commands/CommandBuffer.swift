internal import DequeModule

/// Limits for the commands that wait while a connection is not up, and the rule for those beyond the limits.
///
/// Commands on their way to the connection's executor count as well. While the link takes commands at once, up to
/// 16,384 of them with 16 MiB may be on their way instead, and they wait beyond the limits if the link becomes full
/// meanwhile: a command that was taken is not refused later.
public struct BufferLimits: Sendable, Hashable {
    /// Commands that may wait.
    ///
    /// Default 1,000.
    public var commands = 1_000
    /// Bytes that may wait.
    ///
    /// Default 4 MiB. One command alone may be larger.
    public var bytes = 4 << 20
    /// The rule for a command that does not fit.
    ///
    /// Default ``Overflow/refuse``.
    public var overflow = Overflow.refuse
    /// The longest time a command may wait, even if its own timeout is longer; it then fails with code `timedOut`.
    ///
    /// Default nil: as long as it takes.
    public var maxAge: Duration?

    /// The rule for a command that does not fit.
    ///
    /// The outcome of a command tells that it was dropped.
    public enum Overflow: Sendable, Hashable {
        /// The new command is refused: the call throws.
        case refuse
        /// The oldest waiting commands are dropped.
        case dropOldest
        /// The newest waiting command is dropped for the new one.
        case dropNewest
    }
}

/// The commands that wait for a connection, first in, first out.
struct CommandBuffer: Sendable {
    /// The limits for new commands; commands that wait already may go on waiting.
    var limits: BufferLimits
    private var commands: Deque<Command> = []
    private(set) var byteCount = 0
    /// The keys of waiting commands that newer ones replace.
    private(set) var keys: Set<String> = []

    init(limits: BufferLimits) { self.limits = limits }

    var count: Int { self.commands.count }
    var isEmpty: Bool { self.commands.isEmpty }

    /// Adds a command at the end.
    ///
    /// - Parameters:
    ///   - command: the command.
    ///   - hasBeenTaken: whether its caller has been told that it was taken, so that it is not refused any more.
    /// - Returns: the commands that had to go to make room.
    /// - Throws: `bufferFull` when the rule is to refuse, or the command alone is larger than the buffer.
    mutating func append(_ command: Command, hasBeenTaken: Bool = false) throws(LinkspanError) -> [Command] {
        var dropped: [Command] = []
        while !self.hasRoom(for: command) {
            if hasBeenTaken, self.limits.overflow == .refuse { break }
            guard self.limits.overflow != .refuse, let victim = self.removeVictim() else {
                throw LinkspanError(
                    .bufferFull,
                    "'\(command.event)' refused: the buffer is full with \(self.count) commands, \(self.byteCount) bytes",
                    certainty: .notSent)
            }
            dropped.append(victim)
        }
        self.commands.append(command)
        self.byteCount += command.byteCount
        if let key = command.replacedKey { self.keys.insert(key) }
        return dropped
    }

    /// Puts a command in the place of the one that waits under its key, for which there is room in any case.
    ///
    /// - Returns: the command that waited; nil when there is none.
    mutating func replace(by command: Command) -> Command? {
        guard let key = command.replacedKey, self.keys.contains(key),
            let index = self.commands.lastIndex(where: { $0.replacedKey == key })
        else { return nil }
        let former = self.commands[index]
        self.byteCount += command.byteCount - former.byteCount
        self.commands[index] = command
        self.commands[index].continuesBatch = former.continuesBatch
        return former
    }

    /// Puts back a command that was taken but not sent: first, because nothing was taken since.
    mutating func restore(_ command: Command) {
        self.commands.prepend(command)
        self.byteCount += command.byteCount
        if let key = command.replacedKey { self.keys.insert(key) }
    }

    /// Whether the first command follows the one that was taken before it without a pause.
    var continuesBatch: Bool { self.commands.first?.continuesBatch == true }

    mutating func popFirst() -> Command? {
        guard let command = self.commands.popFirst() else { return nil }
        self.removed(command)
        return command
    }

    private mutating func removed(_ command: Command) {
        self.byteCount -= command.byteCount
        if let key = command.replacedKey { self.keys.remove(key) }
    }

    /// Takes the commands out that are meant, in order.
    mutating func remove(where isMeant: (Command) -> Bool) -> [Command] {
        let removed = self.commands.filter(isMeant)
        guard !removed.isEmpty else { return [] }
        self.commands.removeAll(where: isMeant)
        for command in removed { self.removed(command) }
        return Array(removed)
    }

    var all: [Command] { self.commands.map { $0 } }
    var ids: [Command.ID] { self.commands.map(\.id) }

    mutating func removeAll() -> [Command] {
        defer {
            self.commands = []
            self.byteCount = 0
            self.keys = []
        }
        // An array made of an empty deque writes into storage that all threads share, if only a zero.
        return self.commands.isEmpty ? [] : Array(self.commands)
    }

    /// Whether commands may all be added, or others go for them.
    func hasRoom(for batch: [Command]) -> Bool {
        let bytes = batch.reduce(self.byteCount) { $0 + $1.byteCount }
        return self.limits.overflow != .refuse || self.commands.isEmpty && batch.count == 1
            || self.commands.count + batch.count <= self.limits.commands && bytes <= self.limits.bytes
    }

    private func hasRoom(for command: Command) -> Bool {
        // One command alone always has room: whether it is too large is for the link to say, not for a moment's state.
        self.commands.isEmpty
            || self.commands.count < self.limits.commands && self.byteCount + command.byteCount <= self.limits.bytes
    }

    private mutating func removeVictim() -> Command? {
        let victim = self.limits.overflow == .dropOldest ? self.commands.popFirst() : self.commands.popLast()
        if let victim { self.removed(victim) }
        return victim
    }
}
