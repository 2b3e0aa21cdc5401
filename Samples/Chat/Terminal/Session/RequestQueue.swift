/// Takes what somebody asks for to the floor, one request after the other, so that nothing overtakes.
struct RequestQueue: Sendable {
    /// What became of a request, when there is something to tell.
    enum Outcome: Hashable, Sendable {
        case renamed(String)
        case answer(String)
        case refused(String)
        /// Everything asked for was done; so many lines are still unconfirmed.
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

    init(_ floor: any ChatFloor, patience: Duration) {
        (self.floor, self.patience) = (floor, patience)
        (self.requests, self.source) = AsyncStream.makeStream()
    }

    /// Asks for something.
    func add(_ input: ChatInput) { self.source.yield(.input(input)) }

    /// Tells that somebody types.
    func addTyping() { self.source.yield(.typing) }

    /// Asks for the end: what was asked for before is done first.
    func drain() { self.source.yield(.drain) }

    /// Does what is asked for, until the task is cancelled.
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
            }
        }
    }

    private func perform(_ input: ChatInput) async throws(ChatRefusal) -> Outcome? {
        let current = await self.floor.room
        switch input {
        case .say(let text):
            guard current != nil else { throw ChatRefusal(sentence: "join a room first: /join ROOM") }
            try await self.floor.say(text)
            return nil
        case .join(let room):
            try await self.floor.join(room)
            return nil
        case .leave(let room):
            guard let room = room ?? current else { throw ChatRefusal(sentence: "you are not in a room") }
            try await self.floor.leave(room)
            return nil
        case .who:
            let names = try await self.floor.who().map { VisibleText.name($0) }
            return .answer("here: \(names.joined(separator: ", "))")
        case .nick(let name):
            try await self.floor.nick(name)
            return .renamed(name)
        case .message(let name, let text):
            try await self.floor.message(name, text)
            return nil
        case .topic(let topic?):
            guard current != nil else { throw ChatRefusal(sentence: "join a room first: /join ROOM") }
            try await self.floor.setTopic(topic)
            return nil
        default: return try await self.manage(input)
        }
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
