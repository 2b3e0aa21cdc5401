/// The commands under way, by the numbers of their replies and by their identities.
struct AwaitedCommands {
    private struct Entry: SlabElement {
        var command: Command?
    }

    private var entries = Slab<Entry>()
    private var places: [UInt64: Slab<Entry>.Place] = [:]
    /// The numbers by the commands' identities; nil until one is looked for, because most requests are simply answered
    /// (W2).
    private var numbers: [Command.ID: UInt64]?

    var count: Int { self.entries.count }

    /// The command whose reply has this number.
    subscript(number: UInt64) -> Command? { self.places[number].flatMap { self.entries[$0].command } }

    /// The number of a command's reply.
    mutating func number(of id: Command.ID) -> UInt64? {
        if self.numbers == nil {
            self.numbers = [:]
            for (number, place) in self.places {
                if let command = self.entries[place].command { self.numbers?[command.id] = number }
            }
        }
        return self.numbers?[id]
    }

    mutating func contains(_ id: Command.ID) -> Bool { self.number(of: id) != nil }

    mutating func insert(_ command: Command, number: UInt64) {
        self.numbers?[command.id] = number
        let place = self.entries.insert(Entry(command: command))
        // A repetition has the number of the first attempt.
        if let former = self.places.updateValue(place, forKey: number) { _ = self.entries.remove(former) }
    }

    mutating func remove(_ number: UInt64) -> Command? {
        guard let place = self.places.removeValue(forKey: number) else { return nil }
        let command = self.entries.remove(place).command
        if self.places.isEmpty {
            self.places.trim()
            self.numbers = nil
        } else if let command {
            self.numbers?[command.id] = nil
        }
        return command
    }

    /// Takes all requests out, in the order in which they were made, and forgets the deliveries.
    mutating func removeAll() -> [Command] {
        defer { self = Self() }
        return self.requests
    }

    /// The requests, in the order in which they were made.
    var requests: [Command] { self.entries.all.compactMap(\.command).filter(\.isRequest).sorted { $0.id < $1.id } }
}
