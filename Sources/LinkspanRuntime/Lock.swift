#if canImport(Darwin)
private import Darwin
#else
private import CLinkspanRuntime
#endif

/// State that is reached only while a lock is held.
///
/// The project's one lock. `Synchronization.Mutex` would do the same, but reports false races under the thread
/// sanitizer when contended, and would raise the package's floor to macOS 15 and iOS 18.
public struct Lock<State: Sendable>: Sendable {
    private let storage: Storage

    /// Makes an unlocked lock around `state`.
    public init(_ state: State) {
        self.storage = Storage(state)
    }

    /// Runs `body` with the state, alone.
    ///
    /// Decide in here and act outside: no callback, no continuation, no foreign code while the lock is held. The lock
    /// is not recursive.
    @inlinable
    public func withLock<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        self.acquire()
        defer { self.release() }
        return try body(&self.address.pointee)
    }

    @usableFromInline
    var address: UnsafeMutablePointer<State> { self.storage.state }

    @usableFromInline
    func acquire() { self.storage.acquire() }

    @usableFromInline
    func release() { self.storage.release() }
}

extension Lock {
    // Unchecked because the compiler cannot see that `state` is only reached between `acquire` and `release`.
    private final class Storage: @unchecked Sendable {
        let state: UnsafeMutablePointer<State>

        #if canImport(Darwin)
        /// The system's lock of one `Lock`: guards `state`, between the threads that `Lock`'s owner names.
        private let lock: os_unfair_lock_t
        #else
        private let lock: UnsafeMutablePointer<pthread_mutex_t>
        #endif

        init(_ state: State) {
            self.state = .allocate(capacity: 1)
            self.state.initialize(to: state)
            self.lock = .allocate(capacity: 1)
            #if canImport(Darwin)
            self.lock.initialize(to: os_unfair_lock())
            #else
            self.lock.initialize(to: pthread_mutex_t())
            let code = pthread_mutex_init(self.lock, nil)
            precondition(code == 0, "pthread_mutex_init failed: \(code)")
            #endif
        }

        deinit {
            #if !canImport(Darwin)
            pthread_mutex_destroy(self.lock)
            #endif
            self.lock.deinitialize(count: 1)
            self.lock.deallocate()
            self.state.deinitialize(count: 1)
            self.state.deallocate()
        }

        func acquire() {
            #if canImport(Darwin)
            os_unfair_lock_lock(self.lock)
            #else
            let code = pthread_mutex_lock(self.lock)
            precondition(code == 0, "pthread_mutex_lock failed: \(code)")
            #endif
        }

        func release() {
            #if canImport(Darwin)
            os_unfair_lock_unlock(self.lock)
            #else
            let code = pthread_mutex_unlock(self.lock)
            precondition(code == 0, "pthread_mutex_unlock failed: \(code)")
            #endif
        }
    }
}
