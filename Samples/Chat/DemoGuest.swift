import Linkspan

/// One of the two people of the tour.
@available(macOS 15, *)
struct DemoGuest {
    private let name: String
    private let room: ChatRoom
    private let messaging: Messaging
    private let following: Task<Void, Never>
    private let heard: AsyncStream<String>
    /// What became of the connection, once it was told.
    private let changes: AsyncStream<ConnectionState>

    /// Enters a room, and returns when the server has let the guest in.
    static func enter(_ name: String, _ plan: MessagingPlan, _ wire: DemoWire) async throws -> DemoGuest {
        let visitor = Visitor(name: name, room: wire.room)
        var plan = plan
        plan.credentials = visitor.credentials
        // So that nobody has to watch for long.
        plan.options.retry = .backoff(Backoff(initial: .milliseconds(200), earlyCap: .milliseconds(500)))
        plan.options.retryName = "demo"
        let messaging = try await Messaging.start(plan)
        let connection = try messaging.connect()
        let (changes, change) = AsyncStream<ConnectionState>.makeStream()
        let (entries, entry) = AsyncStream<Void>.makeStream()
        _ = connection.onStateChange { news in
            let sentence = ConnectionNews.sentence(for: news, over: wire.name)
            if let sentence { LineOutput.news("\(name): \(sentence)") }
            change.yield(news.to)
        }
        try connection.on("room") { _ in entry.yield() }
        let guest = DemoGuest(name, try ChatRoom(visitor, over: connection), messaging, changes)
        await guest.wait { $0 == .connected }
        // A raw WebSocket is open before the server knows who it is.
        for await _ in entries { break }
        return guest
    }

    private init(
        _ name: String, _ room: ChatRoom, _ messaging: Messaging, _ changes: AsyncStream<ConnectionState>
    ) {
        self.name = name
        self.room = room
        self.messaging = messaging
        self.changes = changes
        let (heard, ear) = AsyncStream<String>.makeStream()
        self.heard = heard
        // No parent can own this task: it has the life of the guest, and `leave` ends it.
        self.following = Task {
            await room.follow { event in
                guard case .line(let line) = event else { return }
                LineOutput.show("  \(name)'s screen   \(line.from): \(line.text)")
                ear.yield(line.text)
            }
        }
    }

    func say(_ text: String) async throws {
        LineOutput.show("  \(self.name) types      \(text)")
        try await self.room.say(text)
    }

    /// The next lines that come to this guest.
    func hear(_ count: Int) async -> [String] {
        var lines: [String] = []
        for await line in self.heard {
            lines.append(line)
            if lines.count == count { break }
        }
        return lines
    }

    /// Returns when the link is down, and that was told.
    func isLost() async {
        await self.wait { $0 == .reconnecting }
    }

    private func wait(until fits: (ConnectionState) -> Bool) async {
        for await state in self.changes where fits(state) { break }
    }

    func leave() async {
        _ = await self.room.drain(within: .seconds(2))
        self.following.cancel()
        await self.messaging.stop()
    }
}
