import Dispatch
import LinkspanNetwork
import LinkspanRuntime

/// Bytes in which a piece that is lost, doubled or moved shows.
func pattern(_ count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    while bytes.count < count { bytes += patternBlock.prefix(count - bytes.count) }
    return bytes
}

/// A block whose length is a prime, so that no buffer's length is a multiple of it.
private let patternBlock: [UInt8] = {
    var state: UInt32 = 1
    return (0..<65_521).map { _ in
        state = state &* 1_664_525 &+ 1_013_904_223
        return UInt8(truncatingIfNeeded: state >> 24)
    }
}()

/// Runs what blocks on a thread of its own, because the threads of tasks are few.
func blocking<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        let isStarted = spawn { continuation.resume(with: Swift.Result { try body() }) }
        if !isStarted { continuation.resume(throwing: ByteStreamError(.unavailable, "no thread")) }
    }
}

/// Runs `body` on a thread of its own; returns whether there was one.
func spawn(_ body: @escaping @Sendable () -> Void) -> Bool {
    SystemThread.start(name: "test", body)
}

/// Waits until the loop has run all jobs given so far.
func hop(_ loop: any NetworkLoop) async {
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
