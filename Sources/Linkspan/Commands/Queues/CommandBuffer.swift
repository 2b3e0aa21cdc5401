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
struct CommandBuffer {
    private var commands = CommandLists()
    private var list = CommandLists.List()
    private(set) var byteCount = 0
    /// The keys of waiting commands that newer ones replace, and where these are.
    private var keys: [String: CommandLists.Place] = [:]
    /// Keys that came and went, in order, since the last ``takeKeyChanges()``.
    private var keyChanges: [KeyChange] = []

    /// A key that a newer command may replace has come, or has gone.
    struct KeyChange: Sendable {
        var key: String
        var waits: Bool
    }

    var count: Int { self.commands.count }
    var isEmpty: Bool { self.list.isEmpty }
    /// The command that has waited longest.
    var first: Command.ID? { self.commands.id(at: self.list.first) }

    /// Adds a command at the end.
    ///
    /// - Parameters:
    ///   - command: the command.
    ///   - limits: the limits for new commands; commands that wait already may go on waiting.
    ///   - hasBeenTaken: whether its caller has been told that it was taken, so that it is not refused any more.
    /// - Returns: the commands that had to go to make room.
    /// - Throws: `bufferFull` when the rule is to refuse, or the command alone is larger than the buffer.
    mutating func append(
        _ command: Command, within limits: BufferLimits, hasBeenTaken: Bool = false
    ) throws(LinkspanError) -> [Command] {
        var dropped: [Command] = []
        while !self.hasRoom(for: command, within: limits) {
            if hasBeenTaken, limits.overflow == .refuse { break }
            guard limits.overflow != .refuse, let victim = self.removeVictim(limits.overflow) else {
                throw LinkspanError(
                    .bufferFull,
                    "'\(command.event)' refused: the buffer is full with \(self.count) commands, \(self.byteCount) bytes",
                    certainty: .notSent)
            }
            dropped.append(victim)
        }
        self.insert(command, behind: self.list.last)
        return dropped
    }

    private mutating func insert(_ command: Command, behind previous: CommandLists.Place) {
        self.byteCount += command.byteCount
        let place = self.commands.insert(command, behind: previous, in: &self.list)
        guard let key = command.replacedKey else { return }
        self.keys[key] = place
        self.keyChanges.append(KeyChange(key: key, waits: true))
    }

    /// Whether a command waits that a newer one with this key replaces.
    func hasKey(_ key: String) -> Bool { self.keys[key] != nil }

    /// Puts a command in the place of the one that waits under its key, for which there is room in any case.
    ///
    /// - Returns: the command that waited; nil when there is none.
    mutating func replace(by command: Command) -> Command? {
        guard let key = command.replacedKey, let place = self.keys[key],
            let former = self.commands.command(at: place)
        else { return nil }
        self.byteCount += command.byteCount - former.byteCount
        var command = command
        command.continuesBatch = former.continuesBatch
        self.commands.replace(place, by: command)
        return former
    }

    /// Puts back a command that was taken but not sent: first, because nothing was taken since.
    mutating func restore(_ command: Command) { self.insert(command, behind: CommandLists.none) }

    /// Whether the first command follows the one that was taken before it without a pause.
    var continuesBatch: Bool { self.commands.command(at: self.list.first)?.continuesBatch == true }

    mutating func popFirst() -> Command? { self.remove(at: self.list.first) }

    private mutating func remove(at place: CommandLists.Place) -> Command? {
        guard place != CommandLists.none, let command = self.commands.remove(place, from: &self.list) else {
            return nil
        }
        self.byteCount -= command.byteCount
        if let key = command.replacedKey {
            self.keys[key] = nil
            self.keyChanges.append(KeyChange(key: key, waits: false))
        }
        return command
    }

    /// Takes a command out, wherever it is.
    mutating func remove(_ id: Command.ID) -> Command? { self.commands.find(id).flatMap { self.remove(at: $0) } }

    func contains(_ id: Command.ID) -> Bool { self.commands.find(id) != nil }

    var all: [Command] { self.commands.all(self.list) }

    mutating func removeAll() -> [Command] {
        // An array made of nothing would write into storage that all threads share, if only a zero.
        guard !self.isEmpty else { return [] }
        defer {
            self.commands.removeAll()
            self.list = CommandLists.List()
            self.byteCount = 0
            for key in self.keys.keys { self.keyChanges.append(KeyChange(key: key, waits: false)) }
            self.keys = [:]
        }
        return self.all
    }

    /// Takes the keys that came and went.
    mutating func takeKeyChanges() -> [KeyChange] {
        guard !self.keyChanges.isEmpty else { return [] }
        defer { self.keyChanges = [] }
        return self.keyChanges
    }

    /// Whether commands may all be added, or others go for them.
    func hasRoom(for batch: [Command], within limits: BufferLimits) -> Bool {
        let bytes = batch.reduce(self.byteCount) { $0 + $1.byteCount }
        return limits.overflow != .refuse || self.isEmpty && batch.count == 1
            || self.count + batch.count <= limits.commands && bytes <= limits.bytes
    }

    private func hasRoom(for command: Command, within limits: BufferLimits) -> Bool {
        // One command alone always has room: whether it is too large is for the link to say, not for a moment's state.
        self.isEmpty
            || self.count < limits.commands && self.byteCount + command.byteCount <= limits.bytes
    }

    private mutating func removeVictim(_ rule: BufferLimits.Overflow) -> Command? {
        self.remove(at: rule == .dropOldest ? self.list.first : self.list.last)
    }
}
