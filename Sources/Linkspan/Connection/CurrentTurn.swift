private import CLinkspanRuntime

/// The connection whose turn the calling thread is making.
///
/// A thread-specific value: the question "am I called by this connection" is asked for each command, and needs no lock.
enum CurrentTurn {
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let code = pthread_key_create(&key, nil)
        precondition(code == 0, "pthread_key_create failed: \(code)")
        return key
    }()

    static func isOf(_ core: ConnectionCore) -> Bool {
        pthread_getspecific(Self.key) == UnsafeMutableRawPointer(Unmanaged.passUnretained(core).toOpaque())
    }

    /// Runs `body` as a turn of `core`.
    static func make(of core: ConnectionCore, _ body: () -> Void) {
        let former = pthread_getspecific(Self.key)
        pthread_setspecific(Self.key, Unmanaged.passUnretained(core).toOpaque())
        defer { pthread_setspecific(Self.key, former) }
        body()
    }
}
