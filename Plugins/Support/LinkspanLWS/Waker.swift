private import CLibwebsockets
internal import LinkspanRuntime

/// Wakes a sleeping loop, from any thread, and never one that is going down.
final class Waker: Sendable {
    // Unchecked because other threads may hold this pointer, but only to pass it to `lws_cancel_service`.
    private struct Context: @unchecked Sendable { let pointer: OpaquePointer }

    /// The loop's context while it lives: between the loop, which destroys it, and threads that wake it.
    private let context = Lock<Context?>(nil)

    func start(_ context: OpaquePointer) {
        let context = Context(pointer: context)
        self.context.withLock { $0 = context }
    }

    /// The library is called under the lock, or the context could be destroyed in between.
    func wake() {
        self.context.withLock { context in
            if let context { lws_cancel_service(context.pointer) }
        }
    }

    func stop() {
        self.context.withLock { $0 = nil }
    }
}
