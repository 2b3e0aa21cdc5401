internal import CLinkspanRuntime

/// Numbers that no two things of a process share, counted upwards from 1.
package enum ProcessNumber {
    // Unsafe because the compiler cannot see that C adds atomically; nothing else touches it.
    /// The newest number: an atomic, between all threads that make commands.
    private nonisolated(unsafe) static let last: UnsafeMutablePointer<UInt64> = {
        let last = UnsafeMutablePointer<UInt64>.allocate(capacity: 1)
        last.initialize(to: 0)
        return last
    }()

    /// The next number; from any thread, and without a lock.
    package static func next() -> UInt64 { clinkspan_next(Self.last) }
}
