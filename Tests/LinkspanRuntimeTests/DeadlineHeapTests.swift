internal import Testing

@testable internal import LinkspanRuntime

@Suite("DeadlineHeap")
struct DeadlineHeapTests {
    private let start = Moment.now

    @Test
    func `elements come out by deadline, equal deadlines in the order of insertion`() {
        var heap = DeadlineHeap<String>()
        heap.insert("c", at: self.start + .seconds(2))
        heap.insert("a", at: self.start + .seconds(1))
        heap.insert("d", at: self.start + .seconds(2))
        heap.insert("b", at: self.start + .seconds(1))
        var taken: [String] = []
        while let element = heap.popDue(self.start + .seconds(2)) { taken.append(element) }
        #expect(taken == ["a", "b", "c", "d"])
        #expect(heap.count == 0)
    }

    @Test
    func `an element is not taken before its deadline`() {
        var heap = DeadlineHeap<Int>()
        heap.insert(1, at: self.start + .seconds(1))
        #expect(heap.popDue(self.start) == nil)
        #expect(heap.earliest == self.start + .seconds(1))
        #expect(heap.popDue(self.start + .seconds(1)) == 1)
        #expect(heap.earliest == nil)
    }

    @Test
    func `a removed element is returned once, and the next one becomes the earliest`() {
        var heap = DeadlineHeap<Int>()
        let first = heap.insert(1, at: self.start + .seconds(1))
        heap.insert(2, at: self.start + .seconds(2))
        #expect(heap.remove(first) == 1)
        #expect(heap.remove(first) == nil)
        #expect(heap.earliest == self.start + .seconds(2))
        #expect(heap.popDue(self.start + .seconds(3)) == 2)
    }

    @Test
    func `places of removed elements are given back while an earlier element stays`() {
        var heap = DeadlineHeap<Int>()
        heap.insert(0, at: self.start)
        var most = 0
        for number in 1...100_000 {
            heap.remove(heap.insert(number, at: self.start + .seconds(number)))
            most = max(most, heap.places)
        }
        #expect(heap.count == 1)
        #expect(most <= 66)
    }

    @Test
    func `elements that stay keep their order when places are given back`() {
        var heap = DeadlineHeap<Int>()
        let keys = (0..<1_000).map { heap.insert($0, at: self.start + .seconds(($0 * 7919) % 1_000)) }
        for (number, key) in keys.enumerated() where number % 5 != 0 { heap.remove(key) }
        var taken: [Int] = []
        while let element = heap.popDue(self.start + .seconds(1_000)) { taken.append(element) }
        let wanted = stride(from: 0, to: 1_000, by: 5).sorted { ($0 * 7919) % 1_000 < ($1 * 7919) % 1_000 }
        #expect(taken == wanted)
    }
}
