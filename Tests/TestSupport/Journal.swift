internal import Dispatch
internal import LinkspanRuntime

/// What has happened so far, for tests that go on when enough of it has.
public final class Journal<Entry: Sendable>: Sendable {
    /// Not enough has happened in time.
    public struct TimedOut: Error, CustomStringConvertible {
        /// What did not happen.
        public let waitedFor: String
        /// What did.
        public let entries: [Entry]

        /// Both, for a person.
        public var description: String { "waited in vain for \(self.waitedFor); so far: \(self.entries)" }
    }

    private struct Waiter: Sendable {
        let isEnough: @Sendable ([Entry]) -> Bool
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State: Sendable {
        var entries: [Entry] = []
        var waiters: [UInt64: Waiter] = [:]
        var lastID: UInt64 = 0
    }

    private let name: String
    private let state = Lock(State())

    /// Makes an empty journal; the name stands in failures.
    public init(_ name: String) { self.name = name }

    /// What has happened so far.
    public var entries: [Entry] { self.state.withLock { $0.entries } }

    /// Notes that something has happened.
    public func append(_ entry: Entry) {
        let served = self.state.withLock { state in
            state.entries.append(entry)
            let served = state.waiters.filter { $0.value.isEnough(state.entries) }
            for id in served.keys { state.waiters[id] = nil }
            return served.values.map(\.continuation)
        }
        for continuation in served { continuation.resume(returning: true) }
    }

    /// Returns all entries as soon as they are enough.
    ///
    /// - Throws: ``TimedOut`` when that takes longer than `limit`.
    @discardableResult
    public func entries(
        within limit: Duration = .seconds(60), until isEnough: @escaping @Sendable ([Entry]) -> Bool
    ) async throws -> [Entry] {
        let isServed = await withCheckedContinuation { continuation in
            self.wait(Waiter(isEnough: isEnough, continuation: continuation), limit: limit)
        }
        let entries = self.entries
        guard isServed else { throw TimedOut(waitedFor: self.name, entries: entries) }
        return entries
    }

    /// Returns the first entry that fits, as soon as there is one.
    @discardableResult
    public func first(where fits: @escaping @Sendable (Entry) -> Bool) async throws -> Entry {
        let entries = try await self.entries { $0.contains(where: fits) }
        guard let found = entries.first(where: fits) else { throw TimedOut(waitedFor: self.name, entries: entries) }
        return found
    }

    /// Returns the first `count` entries that fit, as soon as there are so many.
    @discardableResult
    public func first(_ count: Int, where fits: @escaping @Sendable (Entry) -> Bool = { _ in true }) async throws
        -> [Entry]
    {
        let entries = try await self.entries { $0.lazy.filter(fits).count >= count }
        return Array(entries.filter(fits).prefix(count))
    }

    private func wait(_ waiter: Waiter, limit: Duration) {
        let id = self.state.withLock { state -> UInt64? in
            guard !waiter.isEnough(state.entries) else { return nil }
            state.lastID += 1
            state.waiters[state.lastID] = waiter
            return state.lastID
        }
        guard let id else { return waiter.continuation.resume(returning: true) }
        let (seconds, attoseconds) = limit.components
        let delay = Double(seconds) + Double(attoseconds) / 1e18
        DispatchQueue.global().asyncAfter(deadline: .now() + delay) {
            self.state.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume(returning: false)
        }
    }
}
