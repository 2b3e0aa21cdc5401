import Linkspan
import LinkspanLifecycle
import Synchronization

/// Delivers the lines of a feature, and knows those that are neither confirmed nor failed.
@available(macOS 15, *)
final class LineDelivery: Sendable {
    private let prefix: String
    private let news: ChatNews
    private let tally = LineTally()
    private let said = Mutex<[(id: String, text: String)]>([])

    /// The lines under way, the oldest first.
    var open: [(id: String, text: String)] { self.said.withLock { $0 } }

    /// Prepares the delivery of lines whose keys begin like this.
    init(_ prefix: String, _ news: ChatNews) { (self.prefix, self.news) = (prefix, news) }

    /// Delivers a line: now, or as soon as it can be; waits only while very many are under way.
    ///
    /// - Parameters:
    ///   - text: the text.
    ///   - event: the event, whose lines keep their order.
    ///   - channel: the channel; nil while there is none.
    ///   - line: makes the payload for a key.
    ///   - begun: what to tell for a key that is under way.
    /// - Throws: ``LinkspanError`` when the channel does not take the line.
    func deliver(
        _ text: String, as event: String, over channel: (any Connection)?, _ line: (String) -> some Encodable,
        begun: (String) -> ChatEvent
    ) async throws(LinkspanError) {
        let id = "\(self.prefix)-\(await self.tally.begin())"
        do throws(LinkspanError) {
            guard let channel else { throw LinkspanError(.wrongState, "the chat is not connected yet") }
            let payload = try Payload(line(id))
            self.said.withLock { $0.append((id, text)) }
            self.news.post(begun(id))
            // The line's key is that of its delivery, too: an outbox knows it by the name that the server does.
            let command = Command(.deliver(orderingKey: event), event: event, payload: payload, key: id) {
                self.ended(id, text, $0)
            } accepted: { _ in
                self.news.post(.kept(id: id, text: text))
            }
            try channel.perform(command)
        } catch {
            self.ended(id, text, .failure(error))
            throw error
        }
    }

    private func ended(_ id: String, _ text: String, _ outcome: Result<Payload, LinkspanError>) {
        self.said.withLock { said in
            if let index = said.firstIndex(where: { $0.id == id }) { said.remove(at: index) }
        }
        if let why = ChatVocabulary.Answer.refusal(in: outcome) {
            self.news.post(.rejected(id: id, text: text, why: why))
        } else {
            self.news.post(.confirmed(id: id))
        }
        self.tally.end()
    }

    /// Waits until every line is confirmed or has failed, or the time is up.
    ///
    /// - Returns: how many lines are still open.
    func drain(within limit: Duration) async -> Int { await self.tally.drain(within: limit) }

    /// Waits until every line is confirmed or has failed, as long as the registry allows.
    func quiesce(_ scope: ServiceScope) async {
        guard let deadline = scope.deadline else { return }
        await self.tally.drain(within: ContinuousClock.now.duration(to: deadline) - .milliseconds(200))
    }
}

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
