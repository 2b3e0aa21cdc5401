// swift-format-ignore-file
// swift-collections: as much of a deque as an array can lend.
public struct Deque<Element>: RandomAccessCollection, MutableCollection, RangeReplaceableCollection, ExpressibleByArrayLiteral {
    private var elements: [Element] = []
    public init() {}
    public init(arrayLiteral elements: Element...) { self.elements = elements }
    public var startIndex: Int { self.elements.startIndex }
    public var endIndex: Int { self.elements.endIndex }
    public subscript(position: Int) -> Element {
        get { self.elements[position] }
        set { self.elements[position] = newValue }
    }
    public mutating func replaceSubrange<Other: Collection<Element>>(_ range: Range<Int>, with new: Other) {
        self.elements.replaceSubrange(range, with: new)
    }
    public mutating func popFirst() -> Element? { nil }
    public mutating func popLast() -> Element? { nil }
    public mutating func prepend(_ element: Element) {}
    public mutating func prepend(contentsOf elements: some Collection<Element>) {}
}
extension Deque: Sendable where Element: Sendable {}
extension Deque: Equatable where Element: Equatable {}
extension Deque: Hashable where Element: Hashable {}
public struct UniqueDeque<Element: ~Copyable>: ~Copyable {
    public init() {}
    public var count: Int { 0 }
    public var isEmpty: Bool { true }
    public var indices: Range<Int> { 0..<0 }
    public subscript(position: Int) -> Element {
        _read { fatalError() }
        _modify { fatalError() }
    }
    public mutating func append(_ element: consuming Element) {}
    public mutating func popFirst() -> Element? { nil }
}
extension UniqueDeque: Sendable where Element: Sendable & ~Copyable {}
