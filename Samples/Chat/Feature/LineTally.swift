import Synchronization

/// Counts the lines under way, and lets others wait for them to become fewer.
@available(macOS 15, *)
final class LineTally: Sendable {
    /// Lines that may be under way at a time: below what the connection keeps for us.
    private static let limit = 2_000

    private struct State: Sendable {
        var begun = 0
        var ended = 0
        var lastWaiter = 0
        var waiters: [Int: (threshold: Int, continuation: CheckedContinuation<Void, Never>)] = [:]

        var open: Int { self.begun - self.ended }
    }

    private let state = Mutex(State())

    /// One more line, as soon as there are fewer than the limit.
    ///
    /// - Returns: its number, from 1.
    func begin() async -> Int {
        while true {
            let number = self.state.withLock { state -> Int? in
                guard state.open < Self.limit || Task.isCancelled else { return nil }
                state.begun += 1
                return state.begun
            }
            if let number { return number }
            await self.wait(for: Self.limit - 1)
        }
    }

    /// One less.
    func end() {
        let ready = self.state.withLock { state in
            state.ended += 1
            let ready = state.waiters.filter { state.open <= $0.value.threshold }
            for id in ready.keys { state.waiters[id] = nil }
            return ready.values.map(\.continuation)
        }
        for continuation in ready { continuation.resume() }
    }

    /// Waits until none is under way, or the time is up.
    ///
    /// - Returns: how many still are.
    @discardableResult
    func drain(within limit: Duration) async -> Int {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.wait(for: 0) }
            group.addTask { try? await Task.sleep(for: limit) }
            await group.next()
            group.cancelAll()
        }
        return self.state.withLock { $0.open }
    }

    private func wait(for threshold: Int) async {
        let id = self.state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isKept = self.state.withLock { state in
                    guard state.open > threshold, !Task.isCancelled else { return false }
                    state.waiters[id] = (threshold, continuation)
                    return true
                }
                if !isKept { continuation.resume() }
            }
        } onCancel: {
            self.state.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume()
        }
    }
}
