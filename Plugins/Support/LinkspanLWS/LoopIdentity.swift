private import CLinkspanRuntime

/// Answers whether the current thread runs a certain loop's jobs at this moment.
///
/// A thread-specific value rather than a stored thread number: it needs no lock, and after a loop's end it moves with
/// the jobs to whichever thread runs them.
final class LoopIdentity: Sendable {
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let code = pthread_key_create(&key, nil)
        precondition(code == 0, "pthread_key_create failed: \(code)")
        return key
    }()

    /// Gets the library's log lines of this loop's thread.
    let log: LibraryLog.Handler?

    init(log: LibraryLog.Handler? = nil) { self.log = log }

    /// The loop whose jobs the current thread runs.
    static var current: LoopIdentity? {
        pthread_getspecific(Self.key).map { Unmanaged<LoopIdentity>.fromOpaque($0).takeUnretainedValue() }
    }

    var isCurrent: Bool {
        pthread_getspecific(Self.key) == UnsafeMutableRawPointer(Unmanaged.passUnretained(self).toOpaque())
    }

    /// Runs `body` as this loop.
    func asCurrent<Result>(_ body: () -> Result) -> Result {
        let previous = pthread_getspecific(Self.key)
        pthread_setspecific(Self.key, Unmanaged.passUnretained(self).toOpaque())
        defer { pthread_setspecific(Self.key, previous) }
        return body()
    }
}
