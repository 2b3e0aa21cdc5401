private import CLinkspanRuntime

/// A mark on threads: the object for which a thread works at this moment.
///
/// A thread-specific value, because "does this thread work for me" is asked for each message, and must not cost a lock.
package struct ThreadMark: Sendable {
    private let key: pthread_key_t

    /// Makes a mark that no thread bears.
    package init() {
        var key = pthread_key_t()
        let code = pthread_key_create(&key, nil)
        precondition(code == 0, "pthread_key_create failed: \(code)")
        self.key = key
    }

    /// Whether the calling thread is within ``set(to:_:)`` for `object`.
    package func isSet(to object: AnyObject) -> Bool {
        pthread_getspecific(self.key) == UnsafeMutableRawPointer(Unmanaged.passUnretained(object).toOpaque())
    }

    /// Runs `body` as work for `object`.
    package func set<Result>(to object: AnyObject, _ body: () -> Result) -> Result {
        let former = pthread_getspecific(self.key)
        pthread_setspecific(self.key, Unmanaged.passUnretained(object).toOpaque())
        defer { pthread_setspecific(self.key, former) }
        return body()
    }
}
