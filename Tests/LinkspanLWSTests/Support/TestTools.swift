import LinkspanLWS

@testable import LinkspanLWS

#if canImport(Dispatch)
import Dispatch
#endif

/// Bytes in which a piece that is lost, doubled or moved shows.
func pattern(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { bytes, initialized in
        var state: UInt32 = 1
        for index in 0..<count {
            state = state &* 1_664_525 &+ 1_013_904_223
            bytes[index] = UInt8(truncatingIfNeeded: state >> 24)
        }
        initialized = count
    }
}

/// Runs `body` on a thread of its own; returns whether there was one.
func spawn(_ body: @escaping @Sendable () -> Void) -> Bool {
    Thread.start(name: "test", body)
}

/// Waits until the loop has run all jobs given so far.
func hop(_ loop: EventLoop) async {
    await withCheckedContinuation { continuation in loop.execute { continuation.resume() } }
}

/// Holds threads until it is opened.
struct Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    static func make() -> (Gate, Gate) {
        let gate = Gate()
        return (gate, gate)
    }

    func wait() {
        self.semaphore.wait()
        self.semaphore.signal()
    }

    func open() { self.semaphore.signal() }
}

extension String {
    /// How often `part` occurs.
    func components(of part: String) -> Int {
        var (count, rest) = (0, self[...])
        while let range = rest.firstRange(of: part) {
            count += 1
            rest = rest[range.upperBound...]
        }
        return count
    }
}
