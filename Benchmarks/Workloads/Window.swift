import Synchronization

/// Keeps a fixed number of messages under way: each one that comes back sends the next.
///
/// As cheap as it can be, because the client is measured and not this.
final class Window: Sendable {
    private let sent = Atomic(0)
    private let received = Atomic(0)
    private let limit = Atomic(0)
    private let end = Mutex((isReached: true, waiter: CheckedContinuation<Void, Never>?.none))
    private let send: @Sendable () -> Void

    init(send: @escaping @Sendable () -> Void) { self.send = send }

    /// Sends `count` messages, `width` at a time, and returns when all have come back.
    func run(_ count: Int, width: Int) async {
        self.expect(count, underWay: width)
        for _ in 0..<width { self.send() }
        await self.all()
    }

    /// Begins to count `count` messages, of which `underWay` are sent by the caller.
    func expect(_ count: Int, underWay: Int) {
        self.end.withLock { $0.isReached = false }
        self.limit.store(count, ordering: .relaxed)
        self.received.store(0, ordering: .relaxed)
        self.sent.store(underWay, ordering: .releasing)
    }

    /// Waits until all of them have come back.
    func all() async {
        await withCheckedContinuation { continuation in
            let isReached = self.end.withLock { end in
                if !end.isReached { end.waiter = continuation }
                return end.isReached
            }
            if isReached { continuation.resume() }
        }
    }

    /// A message has come back, and the next is sent.
    func cameBack() { self.cameBack(sending: self.send) }

    /// A message has come back, and `send` sends the next.
    func cameBack(sending send: () -> Void) {
        let limit = self.limit.load(ordering: .relaxed)
        if self.sent.add(1, ordering: .relaxed).newValue <= limit { send() }
        guard self.received.add(1, ordering: .relaxed).newValue == limit else { return }
        let waiter = self.end.withLock { end in
            defer { end = (true, nil) }
            return end.waiter
        }
        waiter?.resume()
    }
}

/// Counts from nought.
final class Turn: Sendable {
    private let count = Atomic(0)

    func take() -> Int { self.count.add(1, ordering: .relaxed).oldValue }
}
