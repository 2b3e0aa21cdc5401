/// A queue with a fixed limit that grows to it as needed.
struct Ring<Element: Sendable>: Sendable {
    private var storage: [Element?] = []
    private var head = 0
    private(set) var count = 0

    var isEmpty: Bool { self.count == 0 }

    mutating func append(_ element: Element) {
        if self.count == self.storage.count {
            self.grow()
        }
        self.storage[(self.head + self.count) % self.storage.count] = element
        self.count += 1
    }

    /// Puts an element in front of all others.
    mutating func prepend(_ element: Element) {
        if self.count == self.storage.count {
            self.grow()
        }
        self.head = (self.head + self.storage.count - 1) % self.storage.count
        self.storage[self.head] = element
        self.count += 1
    }

    /// The oldest element, which may be changed in its place.
    var first: Element? {
        get { self.count == 0 ? nil : self.storage[self.head] }
        set { if let newValue, self.count > 0 { self.storage[self.head] = newValue } }
    }

    mutating func popFirst() -> Element? {
        guard self.count > 0 else {
            return nil
        }
        let element = self.storage[self.head].take()
        self.head = (self.head + 1) % self.storage.count
        self.count -= 1
        return element
    }

    /// Takes everything out, oldest first.
    mutating func takeAll() -> [Element] {
        var all: [Element] = []
        all.reserveCapacity(self.count)
        while let element = self.popFirst() {
            all.append(element)
        }
        return all
    }

    private mutating func grow() {
        var larger: [Element?] = []
        larger.reserveCapacity(max(8, self.count * 2))
        for offset in 0..<self.count {
            larger.append(self.storage[(self.head + offset) % self.storage.count])
        }
        while larger.count < max(8, self.count * 2) {
            larger.append(nil)
        }
        self.storage = larger
        self.head = 0
    }
}
