/// The subscriptions of a session, and the numbers by which the broker says which of them a message is for.
struct Subscriptions: Sendable {
    private var known: [String: UInt32] = [:]
    private var names: [UInt32: String] = [:]
    /// The first number has another use.
    private var last: UInt32 = 1

    /// Reads ``lines``.
    init(_ lines: some Sequence<Substring> = EmptyCollection()) {
        for line in lines {
            let parts = line.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, let number = UInt32(parts[0]) else { continue }
            let event = String(parts[1])
            (self.known[event], self.names[number], self.last) = (number, event, max(self.last, number))
        }
    }

    /// The subscriptions with their numbers.
    var lines: [String] { self.names.map { "\($0.key) \($0.value)" }.sorted() }

    var events: [String] { self.names.values.sorted() }

    var numbers: [UInt32] { self.names.keys.sorted() }

    /// The event of a number.
    subscript(_ number: UInt32) -> String? { self.names[number] }

    /// Adds an event, if it is not there, and returns its number.
    mutating func add(_ event: String) -> UInt32 {
        if let number = self.known[event] { return number }
        // The highest number of MQTT (section 3.8.2.1.2).
        self.last = self.last >= 268_435_455 ? 2 : self.last + 1
        (self.known[event], self.names[self.last]) = (self.last, event)
        return self.last
    }

    /// Removes an event and returns its number; nil when it is not there.
    mutating func remove(_ event: String) -> UInt32? {
        guard let number = self.known.removeValue(forKey: event) else { return nil }
        self.names[number] = nil
        return number
    }
}
