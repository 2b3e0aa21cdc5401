import Linkspan
import LinkspanLifecycle
import LinkspanMessaging
import LinkspanServices
import Synchronization

/// The feature `presence`: who is in the rooms.
@available(macOS 15, *)
final class PresenceService: ConnectionUsing {
    private struct State: Sendable {
        var channel: (any Connection)?
        /// The people in each room of the visitor.
        var rooms: [String: PresenceSet<String>] = [:]
    }

    let name: ServiceName = "presence"

    private let visitor: Visitor
    private let news: ChatNews
    private let state = Mutex(State())

    init(_ visitor: Visitor, _ news: ChatNews) {
        self.visitor = visitor
        self.news = news
    }

    func use(_ channel: any Connection) throws(LinkspanError) {
        self.state.withLock { $0.channel = channel }
        for room in self.visitor.rooms { try self.follow(room, over: channel) }
        // The server says so when one is in a further room.
        try channel.on("room", as: ChatVocabulary.Position.self) { [weak self] position in
            guard let self, case .success(let position) = position, self.visitor.isIn(position.room) else { return }
            try? self.follow(position.room, over: channel)
        }
    }

    func stop(_ scope: ServiceScope) async throws {
        let rooms = self.state.withLock { state in
            defer { state = State() }
            return state.rooms.values
        }
        for people in rooms { people.end() }
    }

    /// Asks who is in a room, which the news tell; the server is asked only where that is not known.
    func ask(in room: String) throws(LinkspanError) {
        let (channel, people) = self.state.withLock { ($0.channel, $0.rooms[room]) }
        if let people, people.isComplete {
            return self.news.post(.present(room: room, names: people.members.sorted()))
        }
        guard let channel else { throw LinkspanError(.wrongState, "the chat is not connected yet") }
        let payload = try Payload(ChatVocabulary.Place(room: room))
        try channel.perform(
            Command(.request, event: "who", payload: payload, timeout: .seconds(10)) { outcome in
                if let why = ChatVocabulary.Answer.refusal(in: outcome) { return self.news.post(.refused(why)) }
                let answer = try? outcome.get().decode(ChatVocabulary.Answer.self)
                self.news.post(.present(room: room, names: answer?.members ?? []))
            })
    }

    /// Follows a room no longer.
    func leave(_ room: String) { self.state.withLock { $0.rooms.removeValue(forKey: room) }?.end() }

    /// Follows the members of a room; changes during an outage are reported like later ones.
    private func follow(_ room: String, over channel: any Connection) throws(LinkspanError) {
        guard self.state.withLock({ $0.rooms[room] == nil }) else { return }
        let people = try PresenceSet<String>(
            over: channel, joined: "joined", left: "left",
            entry: { ("who", try Payload(ChatVocabulary.Place(room: room))) },
            member: { message in
                let who = try message.decode(ChatVocabulary.Presence.self)
                return who.room == room ? who.name : nil
            },
            members: { try $0.decode(ChatVocabulary.Answer.self).members }
        ) { [weak self] in
            self?.tell($0, in: room)
        }
        self.state.withLock { $0.rooms[room] = people }
    }

    private func tell(_ difference: PresenceDifference<String>, in room: String) {
        let visitor = self.visitor
        guard visitor.isIn(room) else { return }
        // Who was there before has not joined, and oneself does so by another name.
        if !difference.isFirst {
            for name in difference.joined.sorted() where !visitor.isOwn(name) {
                self.news.post(.joined(room: room, name: name))
            }
            for name in difference.left.sorted() where !visitor.isOwn(name) {
                self.news.post(.left(room: room, name: name))
            }
        }
        if difference.isFirst || (difference.joined + difference.left).contains(where: visitor.isOwn) {
            self.news.post(.members(room: room, names: difference.members.sorted()))
        }
    }
}
