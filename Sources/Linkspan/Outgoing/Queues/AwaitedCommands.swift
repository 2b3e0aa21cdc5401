/// The commands under way, by the numbers of their replies and by their identities.
struct AwaitedCommands {
    private struct Entry: SlabElement {
        var command: Command?
        var number: UInt64 = 0
    }

    private var entries = Slab<Entry>()
    private var numbers = PlaceIndex()
    private var ids = PlaceIndex()

    var count: Int { self.entries.count }

    /// The command whose reply has this number.
    subscript(number: UInt64) -> Command? {
        self.numbers.find(PlaceIndex.hash(number)) { self.entries[$0].number == number }
            .flatMap { self.entries[$0].command }
    }

    /// The number of a command's reply.
    func number(of id: Command.ID) -> UInt64? {
        self.ids.find(PlaceIndex.hash(id.number)) { self.entries[$0].command?.id == id }
            .map { self.entries[$0].number }
    }

    func contains(_ id: Command.ID) -> Bool { self.number(of: id) != nil }

    mutating func insert(_ command: consuming Command, number: UInt64) {
        // A repetition has the number of the first attempt.
        _ = self.remove(number)
        let id = command.id
        let place = self.entries.insert(Entry(command: consume command, number: number))
        let entries = self.entries
        self.numbers.insert(place, PlaceIndex.hash(number)) { PlaceIndex.hash(entries[$0].number) }
        self.ids.insert(place, PlaceIndex.hash(id.number)) { PlaceIndex.hash(entries[$0].command?.id.number ?? 0) }
    }

    mutating func remove(_ number: UInt64) -> Command? {
        guard let place = self.forget(number) else { return nil }
        return self.entries.remove(place).command
    }

    // On its own: no copy of the entries may be alive while they are changed.
    private mutating func forget(_ number: UInt64) -> Slab<Entry>.Place? {
        let entries = self.entries
        let place = self.numbers.remove(
            PlaceIndex.hash(number), hashOf: { PlaceIndex.hash(entries[$0].number) },
            where: { entries[$0].number == number })
        guard let place, let id = entries[place].command?.id else { return nil }
        return self.ids.remove(
            PlaceIndex.hash(id.number), hashOf: { PlaceIndex.hash(entries[$0].command?.id.number ?? 0) },
            where: { $0 == place })
    }

    /// Takes all requests out, in the order in which they were made, and forgets the deliveries.
    mutating func removeAll() -> [Command] {
        defer { self = Self() }
        return self.requests
    }

    /// The requests, in the order in which they were made.
    var requests: [Command] { self.entries.all.compactMap(\.command).filter(\.isRequest).sorted { $0.id < $1.id } }
}
