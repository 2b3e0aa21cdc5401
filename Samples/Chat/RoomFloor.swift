import Linkspan

/// One room, for an interactive session.
actor RoomFloor: ChatFloor {
    nonisolated let events: AsyncStream<ChatFloorEvent>
    private let source: AsyncStream<ChatFloorEvent>.Continuation
    private let visitor: Visitor
    private let room: ChatRoom
    private let connection: ConnectionHandler
    /// What was said and is not confirmed yet, in order.
    private var open: [ChatFloorLine] = []
    private var count = 0

    init(_ visitor: Visitor, over connection: ConnectionHandler, transport: String) throws(LinkspanError) {
        (self.visitor, self.connection) = (visitor, connection)
        self.room = try ChatRoom(visitor, over: connection)
        let (events, source) = AsyncStream<ChatFloorEvent>.makeStream()
        (self.events, self.source) = (events, source)
        try connection.on("typing", as: ChatVocabulary.Presence.self) { who in
            if case .success(let who) = who { source.yield(.typing(who.name, room: who.room)) }
        }
        _ = connection.onStateChange { change in
            guard let status = Self.status(after: change, over: transport) else { return }
            let sentence = ConnectionNews.sentence(for: change, over: transport)
            source.yield(.connection(status, sentence: sentence))
        }
    }

    /// Carries what happens in the room to the session, until the task is cancelled.
    func run() async {
        let (reports, report) = AsyncStream<ChatRoom.Event>.makeStream()
        let changes = self.connection.stateChanges
        await withDiscardingTaskGroup { group in
            group.addTask { await self.room.follow { report.yield($0) } }
            group.addTask { for await report in reports { await self.take(report) } }
            group.addTask { for await change in changes where change.to == .connected { await self.count() } }
            group.addTask { await self.watchAttempts() }
        }
    }

    func say(_ text: String) async throws(ChatRefusal) {
        self.count += 1
        let line = ChatFloorLine(
            id: "own-\(self.count)", room: self.visitor.room, from: self.visitor.name, text: text, isOwn: true,
            state: .pending)
        self.open.append(line)
        self.source.yield(.line(line))
        self.source.yield(.waiting(self.open.count))
        try await Self.refusing { () async throws(LinkspanError) in try await self.room.say(text) }
    }

    func join(_ room: String) async throws(ChatRefusal) { throw Self.fixed("the room") }

    func leave(_ room: String) async throws(ChatRefusal) -> String? { throw Self.fixed("the room") }

    func who() async throws(ChatRefusal) -> [String] {
        try await Self.refusing { () async throws(LinkspanError) in try await self.members() }
    }

    func typing() async {
        try? self.connection.sendVolatile("typing", ["room": self.visitor.room])
    }

    func nick(_ name: String) async throws(ChatRefusal) { throw Self.fixed("the name") }

    func switchTransport(_ name: String) async throws(ChatRefusal) { throw Self.fixed("the adapter") }

    func goOffline() async throws(ChatRefusal) {
        try await Self.refusing { () async throws(LinkspanError) in try self.connection.disconnect() }
    }

    func goOnline() async throws(ChatRefusal) {
        try await Self.refusing { () async throws(LinkspanError) in try self.connection.connect() }
    }

    func explain() async -> String { self.connection.diagnosis.sentences.joined(separator: "\n") }

    func drain(within limit: Duration) async -> Int { await self.room.drain(within: limit) }

    private func take(_ event: ChatRoom.Event) {
        switch event {
        case .line(let line):
            self.source.yield(
                .line(
                    ChatFloorLine(
                        id: "\(line.from)/\(line.id)", room: line.room, from: line.from, text: line.text, isOwn: false,
                        state: .confirmed)))
        case .joined(let name): self.source.yield(.joined(name, room: self.visitor.room))
        case .left(let name): self.source.yield(.left(name, room: self.visitor.room))
        case .missed(let lines): self.source.yield(.missed(lines))
        case .confirmed: self.settle(.confirmed)
        case .rejected(_, let why): self.settle(.rejected(why: why))
        }
    }

    /// Tells when each further attempt is due: only the first one comes with a change of the state.
    private func watchAttempts() async {
        var told: ContinuousClock.Instant?
        while (try? await Task.sleep(for: .milliseconds(200))) != nil {
            guard self.connection.state == .reconnecting, case .waiting(let time, _) = self.connection.progress,
                time != told
            else { continue }
            told = time
            self.source.yield(.connection(.reconnecting(at: time), sentence: nil))
        }
    }

    /// Lines are delivered in order, and so are their outcomes.
    private func settle(_ state: ChatFloorLine.State) {
        guard !self.open.isEmpty else { return }
        var line = self.open.removeFirst()
        line.state = state
        self.source.yield(.line(line))
        self.source.yield(.waiting(self.open.count))
    }

    /// Asks who is here, and how long the answer takes.
    private func count() async {
        let start = ContinuousClock.now
        guard let members = try? await self.members() else { return }
        self.source.yield(.members(members, room: self.visitor.room))
        self.source.yield(.roundTrip(start.duration(to: .now)))
    }

    private func members() async throws(LinkspanError) -> [String] {
        let answer = try await self.connection.request("who", ["room": self.visitor.room])
        return try answer.decode(ChatVocabulary.Answer.self).members ?? []
    }

    private static func status(after change: StateChange, over transport: String) -> ConnectionStatus? {
        switch (change.to, change.reason) {
        case (.connected, _): .connected(over: transport)
        case (.reconnecting, _): .reconnecting(at: change.nextAttempt ?? change.time)
        case (.disconnected, .failed(let error)): .failed(error.message)
        case (.disconnected, .requested), (.disconnected, .unoccupied), (.released, _): .offline
        case (.disconnected, .lost), (.disconnected, .established), (.created, _): nil
        }
    }

    private static func refusing<Value>(
        _ body: () async throws(LinkspanError) -> Value
    ) async throws(ChatRefusal) -> Value {
        do throws(LinkspanError) { return try await body() } catch { throw ChatRefusal(sentence: error.message) }
    }

    private static func fixed(_ what: String) -> ChatRefusal {
        ChatRefusal(sentence: "\(what) stays what it is while this chat runs")
    }
}
