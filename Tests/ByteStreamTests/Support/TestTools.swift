import Dispatch
import Foundation
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

/// What a process holds that must not grow.
enum ProcessCounts {
    #if os(Linux)
    private static let folder = "/proc/self/fd"
    #else
    private static let folder = "/dev/fd"
    #endif

    /// Open descriptors, less the one that looks.
    static var descriptors: Int {
        ((try? FileManager.default.contentsOfDirectory(atPath: Self.folder).count) ?? 0) - 1
    }

    /// Opens the descriptors that a process keeps once tasks of it have slept: one for each of two clocks, the second with the
    /// first time limit of a test, which on a busy machine comes behind the test's beginning.
    static func openTimers() async throws {
        try await Task.sleep(for: .milliseconds(1))
        try await Task.sleep(nanoseconds: 1_000_000)
    }

    /// Threads whose names begin as those of the tests and of the library do, so that the pools of others do not count.
    static var threads: Int {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return tasks.filter { task in
            let name = (try? String(contentsOfFile: "/proc/self/task/\(task)/comm", encoding: .utf8)) ?? ""
            return name.hasPrefix("test-") || name.hasPrefix("linkspan") || name.hasPrefix("churn")
        }.count
    }

    /// Resident memory in bytes, 0 where it is not told.
    static var memory: Int {
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return 0 }
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * sysconf(Int32(_SC_PAGESIZE))
    }
}
