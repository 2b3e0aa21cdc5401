import Linkspan
import LinkspanLifecycle
import LinkspanMessaging
import Synchronization

/// The feature `topics`: what a room is about.
@available(macOS 15, *)
final class TopicService: ConnectionUsing {
    let name: ServiceName = "topics"

    private let visitor: Visitor
    private let news: ChatNews
    private let channel = Mutex<(any Connection)?>(nil)

    init(_ visitor: Visitor, _ news: ChatNews) {
        self.visitor = visitor
        self.news = news
    }

    func use(_ channel: any Connection) throws(LinkspanError) {
        self.channel.withLock { $0 = channel }
        let (visitor, news) = (self.visitor, self.news)
        try channel.on("topic", as: ChatVocabulary.Topic.self) { topic in
            guard case .success(let topic) = topic, visitor.isIn(topic.room) else { return }
            news.post(.topic(topic))
        }
    }

    /// Asks for a topic of the visitor's room, or for none if it is empty; the news tell the outcome.
    func set(_ topic: String) throws(LinkspanError) {
        guard let channel = self.channel.withLock({ $0 }), let room = self.visitor.room else {
            throw LinkspanError(.wrongState, "you are not in a room")
        }
        let payload = try Payload(ChatVocabulary.Topic(room: room, topic: topic))
        try channel.perform(
            Command(.request, event: "topic", payload: payload, timeout: .seconds(10)) { outcome in
                if let why = ChatVocabulary.Answer.refusal(in: outcome) { return self.news.post(.refused(why)) }
                // The server tells the others.
                self.news.post(.topic(ChatVocabulary.Topic(room: room, topic: topic, name: self.visitor.name)))
            })
    }
}
