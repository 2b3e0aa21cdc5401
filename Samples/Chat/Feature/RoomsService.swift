import Linkspan
import LinkspanLifecycle
import LinkspanMessaging
import LinkspanServices
import Synchronization

/// The feature `rooms`: sends and receives lines in any number of rooms.
///
/// It knows a message channel and nothing of what carries it: lines may be said at any time, and arrive in order, once
/// the connection allows. The model for a feature of an app: a lifecycle service that is switched on in configuration,
/// gets its channel before anything can come through it, and has time to finish when everything stops.
@available(macOS 15, *)
final class RoomsService: ConnectionUsing {
    let name: ServiceName = "rooms"
    /// Lines under way may take their time when the chat ends.
    let budgets = Budgets(quiesce: .seconds(10))

    private let visitor: Visitor
    private let news: ChatNews
    /// The lines that are neither confirmed nor failed.
    let lines: LineDelivery
    /// The conversation of each room of the visitor.
    private let histories = Mutex<[String: MessageHistory<ChatVocabulary.Line>]>([:])
    private let channel = Mutex<(any Connection)?>(nil)
    init(_ visitor: Visitor, _ news: ChatNews) {
        self.visitor = visitor
        self.news = news
        self.lines = LineDelivery(visitor.session, news)
    }

    func use(_ channel: any Connection) throws(LinkspanError) {
        self.channel.withLock { $0 = channel }
        let (visitor, news) = (self.visitor, self.news)
        for room in visitor.rooms { try self.follow(room, over: channel) }
        try channel.on("room", as: ChatVocabulary.Position.self) { [weak self] position in
            guard let self, case .success(let position) = position, visitor.isIn(position.room) else { return }
            self.histories.withLock { $0[position.room] }?.reset(to: position.seq)
            visitor.move(to: position)
            news.post(.entered(room: position.room))
        }
        try channel.on("gap", as: ChatVocabulary.Gap.self) { gap in
            guard case .success(let gap) = gap, visitor.isIn(gap.room) else { return }
            news.post(.missed(room: gap.room, lines: gap.lines))
        }
    }

    func quiesce(_ scope: ServiceScope) async throws { await self.lines.quiesce(scope) }

    func stop(_ scope: ServiceScope) async throws {
        let histories = self.histories.withLock { histories in
            defer { histories = [:] }
            return histories.values
        }
        for history in histories { history.end() }
    }
}

// MARK: - Lines

@available(macOS 15, *)
extension RoomsService {
    /// Says a line in the visitor's room: now, or as soon as it can be.
    func say(_ text: String) async throws(LinkspanError) {
        guard let room = self.visitor.room else { throw LinkspanError(.wrongState, "you are not in a room") }
        try await self.lines.deliver(text, as: "say", over: self.channel.withLock { $0 }) {
            ChatVocabulary.Say(room: room, text: text, id: $0)
        } begun: {
            .said(id: $0, room: room, text: text)
        }
    }

    /// Follows the conversation of a room: in order, and no line twice.
    ///
    /// Each entry names the last lines seen, and the server repeats the missed ones. Own lines have numbers, too, and come only
    /// with the missed ones, so a gap in the numbers has no meaning.
    private func follow(_ room: String, over channel: any Connection) throws(LinkspanError) {
        guard self.histories.withLock({ $0[room] == nil }) else { return }
        let history = try MessageHistory<ChatVocabulary.Line>(
            over: channel, after: self.visitor.seen(in: room)?.seq, event: "message", isDense: false,
            item: { message in
                let line = try message.decode(ChatVocabulary.Line.self)
                return line.room == room ? line : nil
            },
            offset: { $0.seq }, identity: { "\($0.from) \($0.id)" }, page: { _ in .init(items: []) }
        ) { [weak self] news in
            if case .item(let line) = news { self?.hear(line) }
        }
        self.histories.withLock { $0[room] = history }
    }

    private func hear(_ line: ChatVocabulary.Line) {
        guard self.visitor.isIn(line.room) else { return }
        self.visitor.move(to: line)
        if !line.id.hasPrefix("\(self.visitor.session)-") { self.news.post(.line(line)) }
    }

    private func live() throws(LinkspanError) -> any Connection {
        guard let channel = self.channel.withLock({ $0 }) else {
            throw LinkspanError(.wrongState, "the chat is not connected yet")
        }
        return channel
    }
}

// MARK: - Rooms

@available(macOS 15, *)
extension RoomsService {
    /// Goes to a room; while the connection is down, as soon as it is back.
    func join(_ room: String) throws(LinkspanError) {
        self.visitor.enter(room)
        if let channel = self.channel.withLock({ $0 }) { try self.follow(room, over: channel) }
        let seen = self.visitor.seen(in: room)
        let ask = ChatVocabulary.Place(room: room, seen: seen?.seq, numbering: seen?.numbering)
        // The server says itself when one is in.
        try self.ask("join", ask) { why in
            self.forget(room)
            self.news.post(.out(room: room, why: why))
        }
    }

    /// Leaves a room.
    func leave(_ room: String) throws(LinkspanError) {
        guard self.visitor.isIn(room) else { throw LinkspanError(.wrongState, "you are not in \(room)") }
        self.forget(room)
        try self.ask("leave", ChatVocabulary.Place(room: room)) { _ in }
    }

    private func forget(_ room: String) {
        self.visitor.leave(room)
        self.histories.withLock { $0.removeValue(forKey: room) }?.end()
    }

    private func ask(
        _ event: String, _ place: ChatVocabulary.Place, _ refused: @escaping @Sendable (String) -> Void
    ) throws(LinkspanError) {
        let payload = try Payload(place)
        try self.live().perform(
            Command(.request, event: event, payload: payload) { outcome in
                // What has no answer is no refusal, and made good by the next entry, which names all rooms.
                guard case .success = outcome, let why = ChatVocabulary.Answer.refusal(in: outcome) else { return }
                refused(why)
            })
    }
}
