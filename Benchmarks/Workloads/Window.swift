import Synchronization

/// Keeps a fixed number of messages under way: each one that comes back sends the next.
///
/// As cheap as it can be, because the client is measured and not this.
final class Window: Sendable {
    private let sent = Atomic(0)
    private let received = Atomic(0)
    private let limit = Atomic(0)
    private let done = Mutex<CheckedContinuation<Void, Never>?>(nil)
    private let send: @Sendable () -> Void

    init(send: @escaping @Sendable () -> Void) { self.send = send }

    /// Sends `count` messages, `width` at a time, and returns when all have come back.
    func run(_ count: Int, width: Int) async {
        await withCheckedContinuation { continuation in
            self.done.withLock { $0 = continuation }
            self.limit.store(count, ordering: .relaxed)
            self.received.store(0, ordering: .relaxed)
            self.sent.store(width, ordering: .releasing)
            for _ in 0..<width { self.send() }
        }
    }

    func cameBack() {
        let limit = self.limit.load(ordering: .relaxed)
        if self.sent.add(1, ordering: .relaxed).newValue <= limit { self.send() }
        guard self.received.add(1, ordering: .relaxed).newValue == limit else { return }
        let done = self.done.withLock { done in
            defer { done = nil }
            return done
        }
        done?.resume()
    }
}
