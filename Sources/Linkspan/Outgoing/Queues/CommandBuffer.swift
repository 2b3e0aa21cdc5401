/// The sends and requests that wait for a connection, first in, first out, and those that are held back.
///
/// Deliveries wait in ``Deliveries``.
struct CommandBuffer {
    private var commands = CommandLists()
    private var list = CommandLists.List()
    /// The marked ones, which are held back.
    private var held = CommandLists.List()
    private(set) var byteCount = 0
    /// The keys of waiting commands that newer ones replace, and where these are.
    private var keys: [String: CommandLists.Place] = [:]
    /// Keys that came and went, in order, since the last ``takeKeyChanges()``.
    private var keyChanges: [KeyChange] = []

    var count: Int { self.commands.count }
    /// Whether no command waits for the connection alone.
    var isEmpty: Bool { self.list.isEmpty }
    /// The command that has waited longest.
    var first: Command.ID? { self.commands.id(at: self.list.first) }

    /// Adds a command: in the place of the one that waits under its key, or at the end.
    ///
    /// - Parameters:
    ///   - command: the command.
    ///   - limits: the limits for new commands; commands that wait already may go on waiting.
    ///   - hasBeenTaken: whether its caller has been told that it was taken, so that it is not refused any more.
    /// - Returns: the command in whose place it is, and those that had to go to make room.
    /// - Throws: `bufferFull` when the rule is to refuse.
    mutating func add(
        _ command: Command, within limits: BufferLimits, hasBeenTaken: Bool = false
    ) throws(LinkspanError) -> (former: Command?, dropped: [Command]) {
        let place = command.replacedKey.flatMap { self.keys[$0] } ?? CommandLists.none
        let former = self.commands.command(at: place)
        var dropped: [Command] = []
        while !self.hasRoom(for: command, replacing: former, within: limits) {
            if hasBeenTaken, limits.overflow == .refuse { break }
            guard limits.overflow != .refuse, let victim = self.removeVictim(limits.overflow, sparing: place) else {
                throw command.bufferFull(with: ConnectionLoad(commands: self.count, bytes: self.byteCount))
            }
            dropped.append(victim)
        }
        if let former {
            self.replace(former, at: place, by: command)
        } else if command.delay != nil {
            self.byteCount += command.byteCount
            self.commands.mark(self.commands.insert(command, behind: CommandLists.none, in: &self.held), true)
        } else {
            self.insert(command, behind: self.list.last)
        }
        return (former, dropped)
    }

    private mutating func insert(_ command: Command, behind previous: CommandLists.Place) {
        self.byteCount += command.byteCount
        let place = self.commands.insert(command, behind: previous, in: &self.list)
        guard let key = command.replacedKey else { return }
        self.keys[key] = place
        self.keyChanges.append(KeyChange(key: key, byteCount: command.byteCount))
    }

    /// Whether a command waits that a newer one with this key replaces.
    func hasKey(_ key: String) -> Bool { self.keys[key] != nil }

    private mutating func replace(_ former: Command, at place: CommandLists.Place, by command: Command) {
        var command = command
        command.continuesBatch = former.continuesBatch
        self.commands.replace(place, by: command)
        guard let key = command.replacedKey, command.byteCount != former.byteCount else { return }
        self.byteCount += command.byteCount - former.byteCount
        self.keyChanges.append(KeyChange(key: key, byteCount: command.byteCount))
    }

    /// Puts back a command that was taken but not sent: first, because nothing was taken since.
    mutating func restore(_ command: Command) { self.insert(command, behind: CommandLists.none) }

    /// Whether the first command follows the one that was taken before it without a pause.
    var continuesBatch: Bool { self.commands.command(at: self.list.first)?.continuesBatch == true }

    mutating func popFirst() -> Command? { self.remove(at: self.list.first) }

    private mutating func remove(at place: CommandLists.Place) -> Command? {
        guard place != CommandLists.none else { return nil }
        let isHeld = self.commands.isMarked(place)
        let removed =
            isHeld ? self.commands.remove(place, from: &self.held) : self.commands.remove(place, from: &self.list)
        guard let command = removed else { return nil }
        self.byteCount -= command.byteCount
        if let key = command.replacedKey {
            self.keys[key] = nil
            self.keyChanges.append(KeyChange(key: key))
        }
        return command
    }

    /// Takes a command out, wherever it is.
    mutating func remove(_ id: Command.ID) -> Command? { self.commands.find(id).flatMap { self.remove(at: $0) } }

    func contains(_ id: Command.ID) -> Bool { self.commands.find(id) != nil }

    var all: [Command] { self.commands.all(self.list) + self.commands.all(self.held) }

    mutating func removeAll() -> [Command] {
        // An array made of nothing would write into storage that all threads share, if only a zero.
        guard self.count > 0 else { return [] }
        defer {
            self.commands.removeAll()
            (self.list, self.held) = (CommandLists.List(), CommandLists.List())
            self.byteCount = 0
            for key in self.keys.keys { self.keyChanges.append(KeyChange(key: key)) }
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

    private func hasRoom(for command: Command, replacing former: Command?, within limits: BufferLimits) -> Bool {
        // One command alone always has room: whether it is too large is for the link to say, not for a moment's state.
        guard let former else {
            return self.isEmpty
                || self.count < limits.commands && self.byteCount + command.byteCount <= limits.bytes
        }
        let growth = command.byteCount - former.byteCount
        return growth <= 0 || self.count == 1 || self.byteCount + growth <= limits.bytes
    }

    private mutating func removeVictim(
        _ rule: BufferLimits.Overflow, sparing place: CommandLists.Place
    ) -> Command? {
        let isOldest = rule == .dropOldest
        let victim = isOldest ? self.list.first : self.list.last
        guard victim == place, victim != CommandLists.none else { return self.remove(at: victim) }
        return self.remove(at: isOldest ? self.commands.next(victim) : self.commands.previous(victim))
    }
}
