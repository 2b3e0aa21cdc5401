import Linkspan
import LinkspanTerminal
import Synchronization

/// One person's visit: lines from a source go to the room, what happens goes to the output, until the source ends.
@available(macOS 15, *)
struct ChatSession: Sendable {
    typealias Ending = InteractiveSession.Ending

    private let visit: Visit

    init(_ visit: Visit) { self.visit = visit }

    /// Visits.
    ///
    /// - Parameters:
    ///   - lines: what the person types.
    ///   - patience: how long unconfirmed lines, and then the server's admission, are waited for at the end of input.
    /// - Returns: how the visit ended.
    func run(lines: AsyncStream<String>, patience: Duration) async -> Ending {
        let (failures, failed) = AsyncStream<LinkspanError>.makeStream()
        let (entries, entry) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let (visit, connection, admission) = (self.visit, self.visit.connection, Admission())
        let news = connection.onStatusChange { [weak connection] change in
            if let status = connection?.status,
                let sentence = ConnectionNews.sentence(for: change, of: status, over: visit.transport)
            {
                // A session that goes on has let the visitor in before.
                let isLetIn = visit.visitor.rooms.isEmpty || status.link?.isContinuous == true
                admission.tell(sentence, isToCome: status.state == .connected && !isLetIn)
            }
            if case .state(let change) = change, case .failed(let error) = change.reason { failed.yield(error) }
        }
        defer { news.cancel() }
        async let following = self.follow(entry, admission)
        let ending = await self.ending(lines, patience: patience, entries: entries, failures: failures)
        // A line may have been rejected a moment ago, and is still to be told.
        self.visit.news.finish()
        let rejected = await following
        guard case .finished(let undelivered, _) = ending else { return ending }
        return .finished(undelivered: undelivered, lost: rejected)
    }

    /// Shows what happens, until the news end.
    ///
    /// - Returns: how many lines were rejected.
    private func follow(_ entry: AsyncStream<Void>.Continuation, _ admission: Admission) async -> Int {
        var rejected = 0
        for await event in self.visit.news.events {
            if event.isOfEntry { admission.enter() }
            if case .entered = event { entry.yield() }
            if case .rejected = event { rejected += 1 }
            self.show(event)
        }
        return rejected
    }

    private func ending(
        _ lines: AsyncStream<String>, patience: Duration, entries: AsyncStream<Void>,
        failures: AsyncStream<LinkspanError>
    ) async -> Ending {
        await withTaskGroup(of: Ending?.self) { group in
            group.addTask { await self.talk(lines, patience: patience, entries: entries) }
            group.addTask {
                await self.visit.confirmOutcomes()
                return nil
            }
            group.addTask {
                for await error in failures {
                    return .failed(ConnectionNews.words(for: error, self.visit.connection.status.url))
                }
                return nil
            }
            // The first real ending counts.
            var ending: Ending?
            while ending == nil, let result = await group.next() { ending = result }
            group.cancelAll()
            return ending ?? .finished(undelivered: 0)
        }
    }

    private func talk(
        _ lines: AsyncStream<String>, patience: Duration, entries: AsyncStream<Void>
    ) async -> Ending? {
        do throws(LinkspanError) {
            for await line in lines where !line.isEmpty { try await self.visit.rooms.say(line) }
        } catch {
            return .failed(error.message)
        }
        guard !Task.isCancelled else { return nil }
        let undelivered = await self.visit.drain(within: patience)
        if undelivered == 0, let error = await self.entryFailure(entries, within: patience) {
            return .failed(error.message)
        }
        return .finished(undelivered: undelivered)
    }

    /// Whether the server has let the visitor in, which its first `room` event shows.
    private var hasEntered: Bool {
        let visitor = self.visit.visitor
        return visitor.rooms.contains { visitor.seen(in: $0) != nil }
    }

    /// Why the server does not let the visitor in; nil as soon as it does.
    private func entryFailure(_ entries: AsyncStream<Void>, within patience: Duration) async -> LinkspanError? {
        guard !self.hasEntered else { return nil }
        let hasConnected = self.visit.connection.status.history.contains { $0.to == .connected }
        if !hasConnected, let error = await self.failure(until: { $0.to == .connected }) { return error }
        guard patience > .zero else { return nil }
        // A raw WebSocket is open before the server has looked at the credentials.
        let error: LinkspanError? = await withTaskGroup(of: LinkspanError?.self) { group in
            group.addTask {
                for await _ in entries { break }
                return nil
            }
            group.addTask { await self.failure { _ in false } }
            group.addTask {
                try? await Task.sleep(for: patience)
                return LinkspanError(.timedOut, "connected, but not let in within \(patience)")
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        return self.hasEntered ? nil : error
    }

    /// The reason why the connection is down; nil while a change of its state is awaited.
    private func failure(until isOver: (StateChange) -> Bool) async -> LinkspanError? {
        let connection = self.visit.connection
        for await change in connection.stateChanges {
            if isOver(change) { return nil }
            // A changed configuration moves the connection, which is no failure.
            guard let error = change.reason.error, error.code != .moved else { continue }
            let words = ConnectionNews.words(for: error, connection.status.url)
            return LinkspanError(error.code, "cannot connect: \(words)", cause: error)
        }
        return nil
    }

    private func show(_ event: ChatEvent) {
        switch event {
        case .line(let line): LineOutput.show("\(VisibleText.name(line.from)): \(line.text)")
        case .direct(let message):
            LineOutput.news("\(VisibleText.name(message.from ?? "somebody")) to you alone: \(message.text)")
        case .topic(let topic): if let sentence = Self.sentence(for: topic) { LineOutput.news(sentence) }
        case .joined(_, let name): LineOutput.news("\(VisibleText.name(name)) joined")
        case .left(_, let name): LineOutput.news("\(VisibleText.name(name)) left")
        case .rejected(_, let text, let why): LineOutput.news("not delivered: \(text) (\(why))")
        // While the connection is up, the confirmation is all that counts.
        case .kept(_, let text) where self.visit.isKept && self.visit.connection.state != .connected:
            LineOutput.news("kept: \(text)")
        default: if let notice = event.notice { LineOutput.news(notice) }
        }
    }

    private static func sentence(for topic: ChatVocabulary.Topic) -> String? {
        let actor = topic.name.map { VisibleText.name($0) }
        guard !topic.topic.isEmpty else { return actor.map { "\($0) removed the topic" } }
        return (actor.map { "\($0) set the topic" } ?? "the topic") + ": \(topic.topic)"
    }
}

/// Tells that the chat is connected once the server has let the visitor in: from then on no line is missed.
@available(macOS 15, *)
private final class Admission: Sendable {
    private let state = Mutex((isIn: false, waiting: String?.none))

    /// Tells a change of the connection: at once, or when the server lets the visitor in, if that is to come.
    func tell(_ sentence: String, isToCome: Bool) {
        let isTold = self.state.withLock { state in
            // The news of the entry may have come before that of the connection.
            let isTold = !isToCome || state.isIn
            state = (isToCome && state.isIn, isTold ? nil : sentence)
            return isTold
        }
        if isTold { LineOutput.news(sentence) }
    }

    /// The server has let the visitor in.
    func enter() {
        let sentence = self.state.withLock { state in
            defer { state = (true, nil) }
            return state.waiting
        }
        if let sentence { LineOutput.news(sentence) }
    }
}

extension ChatEvent {
    /// True for what the server sends when it has let the visitor into a room.
    fileprivate var isOfEntry: Bool {
        switch self {
        case .entered, .missed: true
        default: false
        }
    }
}
