import Synchronization

/// Passes requests to the floor one after the other, in order.
@available(macOS 15, *)
final class RequestQueue: Sendable {
    /// What became of a request, when there is something to tell.
    enum Outcome: Hashable, Sendable {
        case renamed(String)
        case answer(String)
        case refused(String)
        /// All requests were carried out; the count of unconfirmed lines.
        case drained(undelivered: Int)
    }

    private enum Request: Sendable {
        case input(ChatInput)
        case typing
        case drain
    }

    private let floor: any ChatFloor
    private let patience: Duration
    private let requests: AsyncStream<Request>
    private let source: AsyncStream<Request>.Continuation
    /// The lines that were asked for and are not with the floor yet.
    private let waitingLines = Mutex(0)

    init(_ floor: any ChatFloor, patience: Duration) {
        (self.floor, self.patience) = (floor, patience)
        (self.requests, self.source) = AsyncStream.makeStream()
    }

    /// How many lines were asked for and are not with the floor yet, which counts them from then on.
    var waiting: Int { self.waitingLines.withLock { $0 } }

    /// Asks for something.
    func add(_ input: ChatInput) {
        if input.isLine { self.waitingLines.withLock { $0 += 1 } }
        self.source.yield(.input(input))
    }

    /// Reports that the user types.
    func addTyping() { self.source.yield(.typing) }

    /// Ends the queue after the requests that were made before.
    func drain() { self.source.yield(.drain) }

    /// Carries out requests until the task is cancelled.
    func run(_ tell: @Sendable (Outcome) -> Void) async {
        for await request in self.requests {
            switch request {
            case .typing: await self.floor.typing()
            case .drain: tell(.drained(undelivered: await self.floor.drain(within: self.patience)))
            case .input(let input):
                do throws(ChatRefusal) {
                    if let outcome = try await self.perform(input) { tell(outcome) }
                } catch {
                    tell(.refused(error.sentence))
                }
                if input.isLine { self.waitingLines.withLock { $0 -= 1 } }
            }
        }
    }

    private func perform(_ input: ChatInput) async throws(ChatRefusal) -> Outcome? {
        let current = await self.floor.room
        switch input {
        case .say where current == nil, .topic where current == nil:
            throw ChatRefusal(sentence: "join a room first: /join ROOM")
        case .say(let text): try await self.floor.say(text)
        case .join(let room): try await self.floor.join(room)
        case .leave(let room):
            guard let room = room ?? current else { throw ChatRefusal(sentence: "you are not in a room") }
            try await self.floor.leave(room)
        case .who: try await self.floor.who()
        case .nick(let name):
            try await self.floor.nick(name)
            return .renamed(name)
        case .message(let name, let text): try await self.floor.message(name, text)
        case .topic(let topic?): try await self.floor.setTopic(topic)
        default: return try await self.manage(input)
        }
        return nil
    }

    private func manage(_ input: ChatInput) async throws(ChatRefusal) -> Outcome? {
        switch input {
        case .transport(let name, let url): try await self.floor.switchTransport(name, url: url)
        case .offline: try await self.floor.goOffline()
        case .online: try await self.floor.goOnline()
        case .explain: return .answer(await self.floor.explain())
        case .outbox: return .answer(try await self.floor.outbox())
        case .help: return .answer(ChatInput.manual)
        case .mistake(let sentence): throw ChatRefusal(sentence: sentence)
        case .say, .join, .leave, .who, .nick, .message, .topic, .search, .mouse, .quit: ()
        }
        return nil
    }
}
