import Linkspan
import LinkspanLifecycle
import LinkspanMessaging
import Synchronization

/// The feature `presence`: who is in the rooms.
@available(macOS 15, *)
final class PresenceService: ConnectionUsing {
    let name: ServiceName = "presence"

    private let visitor: Visitor
    private let news: ChatNews
    private let channel = Mutex<(any Connection)?>(nil)

    init(_ visitor: Visitor, _ news: ChatNews) {
        self.visitor = visitor
        self.news = news
    }

    func use(_ channel: any Connection) throws(LinkspanError) {
        self.channel.withLock { $0 = channel }
        try self.listen(to: "joined", on: channel) { .joined(room: $0.room, name: $0.name) }
        try self.listen(to: "left", on: channel) { .left(room: $0.room, name: $0.name) }
    }

    private func listen(
        to event: String, on channel: any Connection,
        _ news: @escaping @Sendable (ChatVocabulary.Presence) -> ChatEvent
    ) throws(LinkspanError) {
        try channel.on(event, as: ChatVocabulary.Presence.self) { who in
            guard case .success(let who) = who, self.visitor.isIn(who.room) else { return }
            self.news.post(news(who))
        }
    }

    /// Asks who is in a room.
    func who(in room: String) async throws(LinkspanError) -> [String] {
        guard let channel = self.channel.withLock({ $0 }) else {
            throw LinkspanError(.wrongState, "the chat is not connected yet")
        }
        let answer = try await channel.request("who", ChatVocabulary.Place(room: room), timeout: .seconds(10))
        return try answer.decode(ChatVocabulary.Answer.self).members ?? []
    }
}
