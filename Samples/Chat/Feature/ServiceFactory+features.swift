import Linkspan
import LinkspanMessaging

@available(macOS 15, *)
extension Catalog {
    /// Adds the chat's features, so that configuration can name them.
    mutating func addFeatures(for visitor: Visitor, _ news: ChatNews) {
        self.add(ServiceFactory("rooms") { _ in RoomsService(visitor, news) })
        self.add(ServiceFactory("presence") { _ in PresenceService(visitor, news) })
        self.add(ServiceFactory("topics") { _ in TopicService(visitor, news) })
        self.add(ServiceFactory("direct") { _ in DirectMessageService(visitor, news) })
        self.add(ServiceFactory("typing") { _ in TypingService(visitor, news) })
    }
}
