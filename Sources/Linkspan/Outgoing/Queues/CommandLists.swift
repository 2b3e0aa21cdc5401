/// Commands in lists, found by their identity: each operation costs the same however many there are.
struct CommandLists {
    typealias Place = UInt32

    static var none: Place { .max }

    /// The ends of one list.
    struct List {
        fileprivate(set) var first = CommandLists.none
        fileprivate(set) var last = CommandLists.none

        var isEmpty: Bool { self.first == CommandLists.none }
    }

    private struct Slot: SlabElement {
        var command: Command?
        var previous = CommandLists.none
        var next = CommandLists.none
        /// The owner of the list that it is in.
        var owner = CommandLists.none
        var isMarked = false
    }

    private var slots = Slab<Slot>()
    private var places: [Command.ID: Place] = [:]

    var count: Int { self.slots.count }

    /// The place of a command.
    func find(_ id: Command.ID) -> Place? { self.places[id] }

    func command(at place: Place) -> Command? { place == Self.none ? nil : self.slots[place].command }

    func id(at place: Place) -> Command.ID? { place == Self.none ? nil : self.slots[place].command?.id }

    func owner(of place: Place) -> Place { self.slots[place].owner }

    func next(_ place: Place) -> Place { self.slots[place].next }

    func previous(_ place: Place) -> Place { self.slots[place].previous }

    /// A mark of the owner's.
    func isMarked(_ place: Place) -> Bool { self.slots[place].isMarked }

    mutating func mark(_ place: Place, _ isMarked: Bool) { self.slots[place].isMarked = isMarked }

    mutating func change(_ place: Place, _ body: (inout Command) -> Void) {
        guard var command = self.slots[place].command.take() else { return }
        body(&command)
        self.slots[place].command = command
    }

    /// Puts a command in the place of another.
    mutating func replace(_ place: Place, by command: Command) {
        if let former = self.id(at: place) { self.places[former] = nil }
        self.slots[place].command = command
        self.places[command.id] = place
    }

    /// Inserts a command behind another of a list; at the front without one.
    mutating func insert(
        _ command: consuming Command, behind previous: Place, in list: inout List, owner: Place = CommandLists.none
    ) -> Place {
        let next = previous == Self.none ? list.first : self.slots[previous].next
        let id = command.id
        let place = self.slots.insert(
            Slot(command: command, previous: previous, next: next, owner: owner, isMarked: false))
        if previous == Self.none { list.first = place } else { self.slots[previous].next = place }
        if next == Self.none { list.last = place } else { self.slots[next].previous = place }
        self.places[id] = place
        return place
    }

    /// Takes a command out of its list.
    mutating func remove(_ place: Place, from list: inout List) -> Command? {
        let (previous, next) = (self.slots[place].previous, self.slots[place].next)
        if previous == Self.none { list.first = next } else { self.slots[previous].next = next }
        if next == Self.none { list.last = previous } else { self.slots[next].previous = previous }
        if let id = self.id(at: place) { self.places[id] = nil }
        self.places.trim()
        return self.slots.remove(place).command
    }

    /// The commands of a list, in order.
    func all(_ list: List) -> [Command] {
        var all: [Command] = []
        var place = list.first
        while place != Self.none {
            if let command = self.slots[place].command { all.append(command) }
            place = self.slots[place].next
        }
        return all
    }

    mutating func removeAll() {
        self.slots.removeAll()
        self.places = [:]
    }
}
