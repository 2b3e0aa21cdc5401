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
        #if canImport(Darwin)
        private typealias SystemLock = os_unfair_lock
        #else
        private typealias SystemLock = pthread_mutex_t
        #endif

        let state: UnsafeMutablePointer<State>
        /// The system's lock of one `Lock`: guards `state`, between the threads that `Lock`'s owner names.
        private let lock: UnsafeMutablePointer<SystemLock>

        init(_ state: State) {
            // One block of memory for both: each connection has several locks.
            let alignment = MemoryLayout<State>.alignment
            let offset = (MemoryLayout<SystemLock>.size + alignment - 1) / alignment * alignment
            let memory = UnsafeMutableRawPointer.allocate(
                byteCount: offset + MemoryLayout<State>.size,
                alignment: max(alignment, MemoryLayout<SystemLock>.alignment))
            self.lock = memory.initializeMemory(as: SystemLock.self, to: SystemLock())
            self.state = (memory + offset).initializeMemory(as: State.self, to: state)
            #if !canImport(Darwin)
            let code = pthread_mutex_init(self.lock, nil)
            precondition(code == 0, "pthread_mutex_init failed: \(code)")
            #endif
        }

        deinit {
            #if !canImport(Darwin)
            pthread_mutex_destroy(self.lock)
            #endif
            self.state.deinitialize(count: 1)
            UnsafeMutableRawPointer(self.lock).deallocate()
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
