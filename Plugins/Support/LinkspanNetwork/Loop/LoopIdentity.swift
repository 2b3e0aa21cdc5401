private import CLinkspanRuntime

/// Answers whether the current thread runs a certain loop's jobs at this moment.
///
/// A thread-specific value rather than a stored thread number: it needs no lock, and after a loop's end it moves with
/// the jobs to whichever thread runs them.
package final class LoopIdentity: Sendable {
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let code = pthread_key_create(&key, nil)
        precondition(code == 0, "pthread_key_create failed: \(code)")
        return key
    }()

    /// The back end's own data about the loop that the current thread runs.
    package let attachment: (any Sendable)?

    package init(attachment: (any Sendable)? = nil) { self.attachment = attachment }

    /// The loop whose jobs the current thread runs.
    package static var current: LoopIdentity? {
        pthread_getspecific(Self.key).map { Unmanaged<LoopIdentity>.fromOpaque($0).takeUnretainedValue() }
    }

    package var isCurrent: Bool {
        pthread_getspecific(Self.key) == UnsafeMutableRawPointer(Unmanaged.passUnretained(self).toOpaque())
    }

    /// Runs `body` as this loop.
    package func asCurrent<Result>(_ body: () -> Result) -> Result {
        let previous = pthread_getspecific(Self.key)
        pthread_setspecific(Self.key, Unmanaged.passUnretained(self).toOpaque())
        defer { pthread_setspecific(Self.key, previous) }
        return body()
    }
}
