import Linkspan
import LinkspanLifecycle
import Synchronization

/// The feature `presence`: who is in the rooms.
@available(macOS 15, *)
final class PresenceService: ChannelUsing {
    let name: ServiceName = "presence"

    private let visitor: Visitor
    private let news: ChatNews
    private let channel = Mutex<(any MessageChannel)?>(nil)

    init(_ visitor: Visitor, _ news: ChatNews) {
        self.visitor = visitor
        self.news = news
    }

    func use(_ channel: any MessageChannel) throws(LinkspanError) {
        self.channel.withLock { $0 = channel }
        try self.listen(to: "joined", on: channel) { .joined(room: $0.room, name: $0.name) }
        try self.listen(to: "left", on: channel) { .left(room: $0.room, name: $0.name) }
    }

    private func listen(
        to event: String, on channel: any MessageChannel,
        _ news: @escaping @Sendable (ChatVocabulary.Presence) -> ChatEvent
    ) throws(LinkspanError) {
        try channel.on(event, as: ChatVocabulary.Presence.self) { who in
            guard case .success(let who) = who, self.visitor.isIn(who.room) else { return }
            self.news.post(news(who))
        }
    }

    /// Asks who is in a room; the answer comes as news.
    func who(in room: String) throws(LinkspanError) {
        guard let channel = self.channel.withLock({ $0 }) else {
            throw LinkspanError(.wrongState, "the chat is not connected to anything yet")
        }
        let payload = try Payload(ChatVocabulary.Place(room: room))
        let news = self.news
        try channel.perform(
            Command(.request, event: "who", payload: payload, timeout: .seconds(10)) { outcome in
                guard let names = try? outcome.get().decode(ChatVocabulary.Answer.self).members else { return }
                news.post(.members(room: room, names: names))
            })
    }
}
