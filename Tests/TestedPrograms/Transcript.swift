package import Foundation

/// The lines a process has written so far, for which others can wait.
package actor Transcript {
    /// Lines that did not come, and those that came instead.
    package struct Missing: Error, CustomStringConvertible {
        package let description: String

        package init(description: String) { self.description = description }
    }

    private struct Waiter {
        let matches: @Sendable (String) -> Bool
        var missing: Int
        let continuation: CheckedContinuation<Bool, Never>
    }

    private let name: String
    package private(set) var lines: [String] = []
    private var rest = Data()
    private var isEnded = false
    private var waiters: [Int: Waiter] = [:]
    private var lastWaiter = 0

    package init(_ name: String) { self.name = name }

    /// Adds what was read, and wakes those who have waited for it.
    package func append(_ data: Data) {
        self.rest += data
        var parts = self.rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        self.rest = Data(parts.removeLast())
        guard !parts.isEmpty else { return }
        let fresh = parts.map { String(decoding: $0, as: UTF8.self) }
        self.lines += fresh
        for (id, waiter) in self.waiters {
            let missing = waiter.missing - fresh.count(where: waiter.matches)
            self.waiters[id]?.missing = missing
            if missing <= 0 { self.wake(id, true) }
        }
    }

    /// Nothing will follow.
    package func end() {
        if !self.rest.isEmpty { self.append(Data("\n".utf8)) }
        self.isEnded = true
        for id in self.waiters.keys { self.wake(id, false) }
    }

    /// Waits until there are so many lines of a kind.
    ///
    /// - Parameters:
    ///   - what: what is waited for, for the error.
    ///   - times: how many lines.
    ///   - limit: how long at most.
    ///   - matches: whether a line is of the kind.
    /// - Returns: all lines so far.
    /// - Throws: ``Missing`` when the time is up, or when the process ended before.
    @discardableResult
    package func wait(
        for what: String, times: Int = 1, within limit: Duration = .seconds(30),
        where matches: @escaping @Sendable (String) -> Bool
    ) async throws -> [String] {
        self.lastWaiter += 1
        let id = self.lastWaiter
        let isThere = await withTaskGroup(of: Void.self) { group in
            group.addTask {
                try? await Task.sleep(for: limit)
                await self.wake(id, false)
            }
            defer { group.cancelAll() }
            return await self.wait(id, times, matches)
        }
        guard isThere else {
            let tail = self.lines.suffix(12).joined(separator: "\n  ")
            let count = "\(self.lines.count { matches($0) }) of \(times)"
            throw Missing(description: "\(self.name): \(count) times \(what), the last lines being\n  \(tail)")
        }
        return self.lines
    }

    /// Waits for lines that begin like this.
    @discardableResult
    package func wait(forLine start: String, times: Int = 1, within limit: Duration = .seconds(30)) async throws
        -> [String]
    {
        try await self.wait(for: "'\(start)'", times: times, within: limit) { $0.hasPrefix(start) }
    }

    /// Waits until nothing can follow.
    package func all() async throws -> [String] {
        if !self.isEnded { _ = try? await self.wait(for: "the end") { _ in false } }
        guard self.isEnded else { throw Missing(description: "\(self.name): goes on and on") }
        return self.lines
    }

    private func wait(_ id: Int, _ times: Int, _ matches: @escaping @Sendable (String) -> Bool) async -> Bool {
        let missing = times - self.lines.count(where: matches)
        guard missing > 0 else { return true }
        guard !self.isEnded, !Task.isCancelled else { return false }
        return await withCheckedContinuation {
            self.waiters[id] = Waiter(matches: matches, missing: missing, continuation: $0)
        }
    }

    private func wake(_ id: Int, _ isThere: Bool) {
        self.waiters.removeValue(forKey: id)?.continuation.resume(returning: isThere)
    }
}
