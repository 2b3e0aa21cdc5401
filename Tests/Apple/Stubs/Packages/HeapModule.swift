// swift-format-ignore-file
// swift-collections: what a heap promises.
public struct Heap<Element: Comparable> {
    public init() {}
    public init(_ elements: some Sequence<Element>) {}
    public var count: Int { 0 }
    public var isEmpty: Bool { true }
    public var min: Element? { nil }
    public var max: Element? { nil }
    public var unordered: [Element] { [] }
    public mutating func insert(_ element: Element) {}
    public mutating func popMin() -> Element? { nil }
    @discardableResult public mutating func removeMin() -> Element { fatalError() }
}
extension Heap: Sendable where Element: Sendable {}
