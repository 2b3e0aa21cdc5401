import Linkspan
import LinkspanLifecycle
import LinkspanMessaging
import Synchronization

/// The feature `direct`: messages to one person alone.
@available(macOS 15, *)
final class DirectMessageService: ConnectionUsing {
    let name: ServiceName = "direct"
    let budgets = Budgets(quiesce: .seconds(10))

    private let visitor: Visitor
    private let news: ChatNews
    private let tally = LineTally()
    private let recent = Mutex(RecentLines())
    private let channel = Mutex<(any Connection)?>(nil)

    init(_ visitor: Visitor, _ news: ChatNews) {
        self.visitor = visitor
        self.news = news
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
        let number = await self.tally.begin()
        let id = "\(self.visitor.session)-direct-\(number)"
        do throws(LinkspanError) {
            guard let channel = self.channel.withLock({ $0 }) else {
                throw LinkspanError(.wrongState, "the chat is not connected yet")
            }
            let payload = try Payload(ChatVocabulary.Direct(to: name, text: text, id: id))
            self.news.post(.wrote(id: id, to: name, text: text))
            try channel.perform(
                Command(.deliver(orderingKey: "direct"), event: "msg", payload: payload, key: id) { outcome in
                    if let why = ChatVocabulary.Answer.refusal(in: outcome) {
                        self.news.post(.rejected(id: id, text: text, why: why))
                    } else {
                        self.news.post(.confirmed(id: id))
                    }
                    self.tally.end()
                })
        } catch {
            self.news.post(.rejected(id: id, text: text, why: error.message))
            self.tally.end()
            throw error
        }
    }

    /// Waits until every message is confirmed or has failed, as long as the registry allows.
    func quiesce(_ scope: ServiceScope) async throws {
        guard let deadline = scope.deadline else { return }
        await self.tally.drain(within: ContinuousClock.now.duration(to: deadline) - .milliseconds(200))
    }

    /// Waits until every message is confirmed or has failed, or the time is up.
    ///
    /// - Returns: how many are still open.
    func drain(within limit: Duration) async -> Int { await self.tally.drain(within: limit) }
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
