internal import Foundation
internal import LinkspanRuntime

#if canImport(Glibc)
/// Gives free memory back to the system; the C library's header is in none of Swift's modules.
@_silgen_name("malloc_trim")
private func trim(_ keep: Int) -> CInt

/// Sets an option of the allocator.
@_silgen_name("mallopt")
private func setOption(_ option: CInt, _ value: CInt) -> CInt
#endif

/// How much more memory this process has than at a moment, in bytes: looked at all the time until it is let go.
final class MemoryGrowth: Sendable {
    private let start: Int
    private let peak = Lock(0)

    /// Begins to look.
    init() {
        #if canImport(Glibc)
        // What earlier tests left free would hide what the next one takes.
        _ = trim(0)
        // The same goes for large pieces, which the allocator learns to keep: M_MMAP_THRESHOLD stops it from learning.
        _ = setOption(-3, 256 << 10)
        #endif
        self.start = Self.resident
        Thread.detachNewThread { [weak self] in
            while self?.measure() != nil { Thread.sleep(forTimeInterval: 0.005) }
        }
    }

    /// The most so far.
    var largest: Int {
        self.measure()
        return self.peak.withLock { $0 }
    }

    private func measure() {
        let growth = Self.resident - self.start
        self.peak.withLock { $0 = max($0, growth) }
    }

    /// What is resident, from the second number of `/proc/self/statm`, which counts pages; 0 where there is no such
    /// file.
    private static var resident: Int {
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return 0 }
        let numbers = text.split(separator: " ")
        return numbers.count > 1 ? (Int(numbers[1]) ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE))) : 0
    }
}
