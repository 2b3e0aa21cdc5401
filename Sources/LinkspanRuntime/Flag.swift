internal import CLinkspanRuntime

/// A flag that is raised once, and that any thread may look at without a lock.
// Unchecked because the compiler cannot see that C reads and writes atomically; nothing else touches the memory.
package struct Flag: ~Copyable, @unchecked Sendable {
    /// An atomic, between the thread that raises the flag and those that look at it.
    private let raised: UnsafeMutablePointer<Bool>

    /// Makes a flag that is not raised.
    package init() {
        self.raised = .allocate(capacity: 1)
        self.raised.initialize(to: false)
    }

    deinit { self.raised.deallocate() }

    /// Whether it has been raised.
    package var isRaised: Bool { clinkspan_is_raised(self.raised) }

    package func raise() { clinkspan_raise(self.raised) }
}
