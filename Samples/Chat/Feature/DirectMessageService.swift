import Linkspan
import LinkspanLifecycle
import LinkspanMessaging
import Synchronization

/// The feature `direct`: messages to one person alone.
@available(macOS 15, *)
final class DirectMessageService: ConnectionUsing {
    let name: ServiceName = "direct"
    let budgets = Budgets(quiesce: .seconds(10))

    private let news: ChatNews
    let lines: LineDelivery
    private let recent = Mutex(RecentLines())
    private let channel = Mutex<(any Connection)?>(nil)

    init(_ visitor: Visitor, _ news: ChatNews) {
        self.news = news
        self.lines = LineDelivery("\(visitor.session)-direct", news)
    }

    func use(_ channel: any Connection) throws(LinkspanError) {
        self.channel.withLock { $0 = channel }
        try channel.on("msg", as: ChatVocabulary.Direct.self) { message in
            guard case .success(let message) = message, let sender = message.from else { return }
            // It comes again when its confirmation was lost.
            guard self.recent.withLock({ $0.isNew(message.id, from: sender) }) else { return }
            self.news.post(.direct(message))
        }
    }

    /// Says something to one person: now, or as soon as it can be.
    func say(_ text: String, to name: String) async throws(LinkspanError) {
        try await self.lines.deliver(text, as: "msg", over: self.channel.withLock { $0 }) {
            ChatVocabulary.Direct(to: name, text: text, id: $0)
        } begun: {
            .wrote(id: $0, to: name, text: text)
        }
    }

    func quiesce(_ scope: ServiceScope) async throws { await self.lines.quiesce(scope) }
}

/// The messages that were received last, to recognise repeated ones.
struct RecentLines: Sendable {
    private static let capacity = 5_000

    /// The latest ones, and as many before them.
    private var (latest, former): (Set<[String]>, Set<[String]>) = ([], [])

    mutating func isNew(_ id: String, from name: String) -> Bool {
        guard !self.former.contains([name, id]), self.latest.insert([name, id]).inserted else { return false }
        if self.latest.count == Self.capacity { (self.latest, self.former) = ([], self.latest) }
        return true
    }
}
