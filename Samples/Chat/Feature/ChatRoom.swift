import Linkspan

/// One person in one room: says lines and hears of what happens there.
///
/// This is all of the chat's feature code. It knows a message channel and nothing of what carries it: lines may be said
/// at any time, and arrive in order, once the connection allows.
struct ChatRoom: Sendable {
    /// What happens in the room.
    enum Event: Sendable {
        case line(ChatVocabulary.Line)
        case joined(String)
        case left(String)
        /// A line of ours is in the room.
        case confirmed
        /// A line of ours was refused or given up.
        case rejected(text: String, why: String)
    }

    /// The name of the room.
    let name: String
    private let channel: any MessageChannel
    private let tally = LineTally()
    private let session = String(UInt64.random(in: .min ... .max), radix: 36)
    private let events: AsyncStream<Event>
    private let report: AsyncStream<Event>.Continuation

    /// Listens in a room. The server has been told name and room by the credentials.
    init(_ name: String, over channel: any MessageChannel) throws(LinkspanError) {
        self.name = name
        self.channel = channel
        (self.events, self.report) = AsyncStream.makeStream()
        try self.listen()
    }

    /// Says a line: now, or as soon as it can be. Waits only while very many are under way.
    func say(_ text: String) async throws(LinkspanError) {
        let number = await self.tally.begin()
        let say = ChatVocabulary.Say(room: self.name, text: text, id: "\(self.session)-\(number)")
        let report = self.report
        let command = Command(.deliver(lane: "say"), event: "say", payload: try Payload(say)) { outcome in
            report.yield(Self.fate(of: text, outcome))
        }
        try self.channel.perform(command)
    }

    /// Shows what happens, until the task is cancelled.
    func follow(_ show: @Sendable (Event) -> Void) async {
        var recent = RecentLines()
        for await event in self.events {
            switch event {
            case .line(let line):
                // The sender may have repeated a line that was under way when a connection broke.
                guard recent.isNew(line) else { continue }
            case .confirmed, .rejected:
                await self.tally.end()
            case .joined, .left:
                ()
            }
            show(event)
        }
    }

    /// Waits until every line is confirmed or rejected, or the time is up.
    ///
    /// - Returns: how many lines are still open.
    func drain(within limit: Duration) async -> Int { await self.tally.drain(within: limit) }

    private func listen() throws(LinkspanError) {
        let (room, report) = (self.name, self.report)
        try self.channel.on("message", as: ChatVocabulary.Line.self) { line in
            if case .success(let line) = line, line.room == room { report.yield(.line(line)) }
        }
        try self.channel.on("joined", as: ChatVocabulary.Presence.self) { who in
            if case .success(let who) = who, who.room == room { report.yield(.joined(who.name)) }
        }
        try self.channel.on("left", as: ChatVocabulary.Presence.self) { who in
            if case .success(let who) = who, who.room == room { report.yield(.left(who.name)) }
        }
    }

    private static func fate(of text: String, _ outcome: Result<Payload, LinkspanError>) -> Event {
        do throws(LinkspanError) {
            let answer = try outcome.get().decode(ChatVocabulary.Answer.self)
            guard !answer.ok else { return .confirmed }
            return .rejected(text: text, why: answer.error?.message ?? "the server gave no reason")
        } catch {
            return .rejected(text: text, why: error.message)
        }
    }
}

/// The lines that were received last, to recognise repeated ones.
private struct RecentLines {
    private struct Key: Hashable {
        var from: String
        var id: String
    }

    private static let capacity = 10_000

    private var known: Set<Key> = []
    private var order: [Key] = []
    private var oldest = 0

    mutating func isNew(_ line: ChatVocabulary.Line) -> Bool {
        let key = Key(from: line.from, id: line.id)
        guard self.known.insert(key).inserted else { return false }
        if self.order.count < Self.capacity {
            self.order.append(key)
        } else {
            self.known.remove(self.order[self.oldest])
            self.order[self.oldest] = key
            self.oldest = (self.oldest + 1) % Self.capacity
        }
        return true
    }
}
