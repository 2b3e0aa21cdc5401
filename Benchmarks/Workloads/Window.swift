import Linkspan
import Synchronization

/// Keeps a fixed number of messages under way: each one that comes back sends the next.
final class Window: Sendable {
    private struct State: Sendable {
        var sent = 0
        var received = 0
        var limit = 0
        var done: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())
    private let send: @Sendable () -> Void

    init(send: @escaping @Sendable () -> Void) { self.send = send }

    /// Sends `count` messages, `width` at a time, and returns when all have come back.
    func run(_ count: Int, width: Int) async {
        await withCheckedContinuation { continuation in
            self.state.withLock { $0 = State(sent: width, limit: count, done: continuation) }
            for _ in 0..<width { self.send() }
        }
    }

    func cameBack() {
        let (mustSend, done) = self.state.withLock { state -> (Bool, CheckedContinuation<Void, Never>?) in
            state.received += 1
            if state.received == state.limit { return (false, state.done) }
            guard state.sent < state.limit else { return (false, nil) }
            state.sent += 1
            return (true, nil)
        }
        if mustSend { self.send() }
        done?.resume()
    }
}
