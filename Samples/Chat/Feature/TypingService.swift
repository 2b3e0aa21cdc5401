import Linkspan
import LinkspanLifecycle
import LinkspanMessaging
import Synchronization

/// The feature `typing`: shows the others in a room that the user is typing.
///
/// The signal is useless when late: it is dropped while the connection is down, and sent at most every two seconds.
@available(macOS 15, *)
final class TypingService: ConnectionUsing {
    let name: ServiceName = "typing"
    private static let spacing = Duration.seconds(2)

    private struct State: Sendable {
        var channel: (any Connection)?
        var latest: ContinuousClock.Instant?
    }

    private let visitor: Visitor
    private let news: ChatNews
    private let state = Mutex(State())

    init(_ visitor: Visitor, _ news: ChatNews) {
        self.visitor = visitor
        self.news = news
    }

    func use(_ channel: any Connection) throws(LinkspanError) {
        self.state.withLock { $0.channel = channel }
        try channel.on("typing", as: ChatVocabulary.Presence.self) { who in
            guard case .success(let who) = who, self.visitor.isIn(who.room) else { return }
            self.news.post(.typing(room: who.room, name: who.name))
        }
    }

    /// The visitor has typed something.
    func typed(now: ContinuousClock.Instant = .now) {
        guard let room = self.visitor.room else { return }
        let channel = self.state.withLock { state -> (any Connection)? in
            if let latest = state.latest, latest.duration(to: now) < Self.spacing { return nil }
            state.latest = now
            return state.channel
        }
        // A sign that cannot be sent is left out.
        try? channel?.send("typing", ChatVocabulary.Place(room: room), volatile: true)
    }
}
