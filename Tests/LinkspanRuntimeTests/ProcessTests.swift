internal import Foundation
internal import LinkspanRuntime
internal import TestSupport
internal import Testing

@Suite("The process and its values")
struct ProcessTests {
    @Test
    func `resident memory grows with the pages that are written`() async {
        await #expect(processExitsWith: .success) {
            let (before, size) = (ProcessMemory.resident, 64 << 20)
            let pages = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 1 << 12)
            memset(pages, 1, size)
            let growth = ProcessMemory.resident - before
            pages.deallocate()
            try #require(before > 0 && growth >= size / 2 && growth < size * 2)
        }
    }

    @Test(.disabled(if: AddressSanitizer.isOn))
    func `locks and their states give their memory back`() async {
        await #expect(processExitsWith: .success) {
            for _ in 0..<1_000 { _ = Lock([0]) }
            let before = ProcessMemory.resident
            for _ in 0..<500_000 { _ = Lock([0]) }
            try #require(ProcessMemory.resident - before < 4 << 20)
        }
    }

    @Test
    func `a line goes to standard error in one piece`() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            StandardError.print("a line of the SDK")
        }
        let text = try String(decoding: #require(result).standardErrorContent, as: UTF8.self)
        #expect(text.split(separator: "\n").contains("a line of the SDK"))
    }

    @Test
    func `boxes are equal when their values are, and a copy changes alone`() {
        let first = Boxed([1, 2])
        var copy = first
        #expect(first == copy && first == Boxed([1, 2]) && first != Boxed([1, 3]))
        copy.value.append(3)
        #expect(first.value == [1, 2] && copy.value == [1, 2, 3] && first != copy)
        copy.value.append(4)
        #expect(copy.value == [1, 2, 3, 4] && Set([first, Boxed([1, 2]), copy]).count == 2)
    }

    @Test
    func `a failure of the system has its words`() {
        #expect(SystemProblem.text(of: 2).lowercased().contains("no such file"))
    }
}
