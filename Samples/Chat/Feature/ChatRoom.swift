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
        /// Lines that were said while we were away and are gone; nil when their number is not known.
        case missed(Int?)
        /// A line of ours is in the room.
        case confirmed
        /// A line of ours was refused or given up.
        case rejected(text: String, why: String)
    }

    /// What the listeners hand to ``follow(_:)``.
    private enum Report: Sendable {
        case event(Event)
        case stands(at: Int)
    }

    private let visitor: Visitor
    private let channel: any MessageChannel
    private let tally = LineTally()
    private let reports: AsyncStream<Report>
    private let report: AsyncStream<Report>.Continuation

    /// Listens in a visitor's room.
    ///
    /// The server has been told who visits by ``Visitor/credentials``.
    init(_ visitor: Visitor, over channel: any MessageChannel) throws(LinkspanError) {
        self.visitor = visitor
        self.channel = channel
        (self.reports, self.report) = AsyncStream.makeStream()
        try self.listen()
    }

    /// Says a line: now, or as soon as it can be.
    ///
    /// Waits only while very many are under way.
    func say(_ text: String) async throws(LinkspanError) {
        let number = await self.tally.begin()
        let say = ChatVocabulary.Say(room: self.visitor.room, text: text, id: "\(self.visitor.session)-\(number)")
        let report = self.report
        let command = Command(.deliver(lane: "say"), event: "say", payload: try Payload(say)) { outcome in
            report.yield(.event(Self.fate(of: text, outcome)))
        }
        try self.channel.perform(command)
    }

    /// Shows what happens, until the task is cancelled.
    func follow(_ show: @Sendable (Event) -> Void) async {
        var recent = RecentLines()
        for await report in self.reports {
            switch report {
            case .stands(let position):
                await self.visitor.bookmark.move(to: position)
            case .event(.line(let line)):
                await self.visitor.bookmark.move(to: line.seq)
                // The server repeats what we may have missed: our own lines, and lines that we have seen after all.
                guard !line.id.hasPrefix("\(self.visitor.session)-"), recent.isNew(line) else { continue }
                show(.line(line))
            case .event(let event):
                switch event {
                case .confirmed, .rejected: await self.tally.end()
                case .line, .joined, .left, .missed: ()
                }
                show(event)
            }
        }
    }

    /// Waits until every line is confirmed or rejected, or the time is up.
    ///
    /// - Returns: how many lines are still open.
    func drain(within limit: Duration) async -> Int { await self.tally.drain(within: limit) }

    private func listen() throws(LinkspanError) {
        let (room, report) = (self.visitor.room, self.report)
        try self.channel.on("message", as: ChatVocabulary.Line.self) { line in
            if case .success(let line) = line, line.room == room { report.yield(.event(.line(line))) }
        }
        try self.channel.on("room", as: ChatVocabulary.Position.self) { position in
            if case .success(let position) = position, position.room == room { report.yield(.stands(at: position.seq)) }
        }
        try self.channel.on("gap", as: ChatVocabulary.Gap.self) { gap in
            if case .success(let gap) = gap, gap.room == room { report.yield(.event(.missed(gap.lines))) }
        }
        try self.channel.on("joined", as: ChatVocabulary.Presence.self) { who in
            if case .success(let who) = who, who.room == room { report.yield(.event(.joined(who.name))) }
        }
        try self.channel.on("left", as: ChatVocabulary.Presence.self) { who in
            if case .success(let who) = who, who.room == room { report.yield(.event(.left(who.name))) }
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
