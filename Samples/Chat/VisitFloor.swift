import Linkspan
import LinkspanConfiguration
import LinkspanLifecycle
import LinkspanMessaging
import LinkspanOutbox

/// A visit, as an interactive session sees it.
@available(macOS 15, *)
actor VisitFloor: ChatFloor {
    nonisolated let events: AsyncStream<ChatFloorEvent>
    private nonisolated let source: AsyncStream<ChatFloorEvent>.Continuation
    private nonisolated let visit: Visit
    private let configuration: ChatConfiguration
    /// The transport that the URL of the flags belongs to.
    private let flagged: String
    /// What was said and is not confirmed yet.
    private var open: [String: ChatFloorLine] = [:]

    init(_ visit: Visit, _ configuration: ChatConfiguration) {
        self.visit = visit
        self.configuration = configuration
        self.flagged = visit.transport
        (self.events, self.source) = AsyncStream.makeStream()
        visit.connection.onStatusChange { [weak self] change in self?.tell(change) }
    }

    /// Forwards events to the session, until the task is cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { for await event in self.visit.news.events { await self.take(event) } }
            group.addTask { await self.visit.confirmOutcomes() }
        }
    }
}

// MARK: - What happens

@available(macOS 15, *)
extension VisitFloor {
    private func take(_ event: ChatEvent) {
        switch event {
        case .said(let id, let room, let text):
            self.open[id] = ChatFloorLine(
                id: id, room: room, from: self.visit.visitor.name, text: text, isOwn: true, state: .pending)
            self.settle(id, .pending)
        case .wrote(let id, let name, let text):
            self.open[id] = ChatFloorLine(
                id: id, room: "", from: self.visit.visitor.name, text: text, isOwn: true, state: .pending,
                recipient: name)
            self.settle(id, .pending)
        case .direct(let message):
            let sender = message.from ?? "somebody"
            self.source.yield(
                .line(
                    ChatFloorLine(
                        id: "\(sender)/\(message.id)", room: "", from: sender, text: message.text, isOwn: false,
                        state: .confirmed, recipient: self.visit.visitor.name)))
        case .present(let room, let names): self.source.yield(.present(names, room: room))
        case .refused(let why): self.source.yield(.refused(why))
        case .topic(let topic): self.source.yield(.topic(topic.topic, room: topic.room, by: topic.name))
        case .confirmed(let id): self.settle(id, .confirmed)
        case .rejected(let id, _, let why): self.settle(id, .rejected(why: why))
        case .line(let line):
            self.source.yield(
                .line(
                    ChatFloorLine(
                        id: "\(line.from)/\(line.id)", room: line.room, from: line.from, text: line.text, isOwn: false,
                        state: .confirmed)))
        case .members(let room, let names): self.source.yield(.members(names, room: room))
        case .joined(let room, let name): self.source.yield(.joined(name, room: room))
        case .left(let room, let name): self.source.yield(.left(name, room: room))
        case .typing(let room, let name): self.source.yield(.typing(name, room: room))
        case .missed(_, let lines): self.source.yield(.missed(lines))
        case .late(nil): self.source.yield(.late("a line of an earlier visit was delivered"))
        case .late(let why?): self.source.yield(.late("a line of an earlier visit was not delivered: \(why)"))
        case .out(let room, let why):
            self.source.yield(.out(room, why: why))
            self.source.yield(.room(self.visit.visitor.room))
        case .roundTrip(let time): self.source.yield(.roundTrip(time))
        case .adopted where self.visit.connection.state == .connected:
            self.source.yield(.connection(.connected(over: self.visit.transport), sentence: nil))
        case .adopted, .entered, .kept: ()
        }
    }

    private func settle(_ id: String, _ state: ChatFloorLine.State) {
        guard var line = self.open[id] else { return }
        line.state = state
        self.open[id] = state == .pending ? line : nil
        // The number comes first, so that no frame between the two counts a line that it shows as confirmed.
        self.source.yield(.waiting(self.open.count))
        self.source.yield(.line(line))
    }

    private nonisolated func tell(_ change: StatusChange) {
        switch change {
        case .state(let change):
            let transport = self.visit.transport
            let url = self.visit.connection.status.url
            guard let status = Self.status(after: change, over: transport, to: url) else { return }
            let sentence = ConnectionNews.sentence(for: change, over: transport, to: url)
            self.source.yield(.connection(status, sentence: sentence))
        // Only the first attempt comes with a change of the state.
        case .progress(.waiting(let time, _)) where self.visit.connection.state == .reconnecting:
            self.source.yield(.connection(.reconnecting(at: time), sentence: nil))
        case .progress: ()
        }
    }

    private static func status(
        after change: StateChange, over transport: String, to url: ConnectionURL
    ) -> ShownStatus? {
        switch (change.to, change.reason) {
        case (.connected, _): .connected(over: transport)
        case (.reconnecting, _): .reconnecting(at: change.nextAttempt ?? change.time)
        case (.disconnected, .failed(let error)): .failed(ConnectionNews.words(for: error, url))
        case (.disconnected, .requested), (.disconnected, .unoccupied), (.released, _): .offline
        case (.disconnected, .lost), (.disconnected, .established), (.created, _): nil
        }
    }
}

// MARK: - What is asked for

@available(macOS 15, *)
extension VisitFloor {
    private nonisolated var presence: PresenceService? {
        self.visit.messaging.services.services(of: PresenceService.self).first
    }

    func say(_ text: String) async throws(ChatRefusal) {
        _ = try await Self.refusing { () async throws(LinkspanError) in try await self.visit.rooms.say(text) }
    }

    var room: String? { self.visit.visitor.room }

    func join(_ room: String) async throws(ChatRefusal) {
        try Self.check(room, "room")
        // Before the answer, which may bring the former room back.
        self.source.yield(.room(room))
        try await Self.refusing { () async throws(LinkspanError) in try self.visit.rooms.join(room) }
    }

    func leave(_ room: String) async throws(ChatRefusal) {
        try await Self.refusing { () async throws(LinkspanError) in try self.visit.rooms.leave(room) }
        self.presence?.leave(room)
        self.source.yield(.room(self.room))
    }

    func message(_ name: String, _ text: String) async throws(ChatRefusal) {
        guard let direct = self.visit.messaging.services.services(of: DirectMessageService.self).first else {
            throw ChatRefusal(sentence: "the service 'direct' is not among linkspan.services.enabled")
        }
        // Its outcome is shown beside the line.
        try? await direct.say(text, to: name)
    }

    func setTopic(_ topic: String) async throws(ChatRefusal) {
        guard let topics = self.visit.messaging.services.services(of: TopicService.self).first else {
            throw ChatRefusal(sentence: "the service 'topics' is not among linkspan.services.enabled")
        }
        try await Self.refusing { () async throws(LinkspanError) in try topics.set(topic) }
    }

    func who() async throws(ChatRefusal) {
        guard let presence = self.presence else {
            throw ChatRefusal(sentence: "the service 'presence' is not among linkspan.services.enabled")
        }
        guard let room = self.room else { throw ChatRefusal(sentence: "you are not in a room") }
        try await Self.refusing { () async throws(LinkspanError) in try presence.ask(in: room) }
    }

    func typing() async { self.visit.messaging.services.services(of: TypingService.self).first?.typed() }

    func nick(_ name: String) async throws(ChatRefusal) {
        try Self.check(name, "name")
        // The server knows a line by its sender's name and its key: one that came again under another name would be
        // said twice. What is just under way is soon confirmed.
        let open = await self.drain(within: .seconds(2))
        guard open == 0 else {
            let lines = open == 1 ? "1 line is" : "\(open) lines are"
            throw ChatRefusal(sentence: "\(lines) not confirmed yet; /nick \(name) works once nothing waits")
        }
        // Each entry tells the server the name, so join again.
        try await Self.refusing { () async throws(LinkspanError) in
            try self.visit.visitor.rename(to: name) { () throws(LinkspanError) in
                try self.visit.move(to: self.visit.plan)
            }
        }
    }

    func switchTransport(_ name: String, url: String?) async throws(ChatRefusal) {
        var configuration = self.configuration
        // The flag's endpoint is that of the flag's transport.
        if name != self.flagged || url != nil { configuration.url = url }
        configuration.transport = name
        configuration.server = self.visit.server
        do {
            try self.visit.move(to: configuration.load(for: self.visit.visitor, self.visit.news))
        } catch let error as ConfigurationError {
            if error.problems.allSatisfy(\.isMissing) {
                throw ChatRefusal(sentence: "no server is known for \(name): /transport \(name) URL")
            }
            throw ChatRefusal(sentence: error.problems.map(\.message).joined(separator: "; "))
        } catch {
            throw ChatRefusal(sentence: (error as? LinkspanError)?.message ?? "\(error)")
        }
    }

    func goOffline() async throws(ChatRefusal) {
        try await Self.refusing { () async throws(LinkspanError) in try self.visit.connection.disconnect() }
    }

    func goOnline() async throws(ChatRefusal) {
        try await Self.refusing { () async throws(LinkspanError) in try self.visit.connection.reconnectNow() }
    }

    func explain() async -> String {
        let settings = ["transport.adapter", "services.enabled"].compactMap { self.visit.plan.explain($0)?.description }
        return ([self.visit.connection.explain()] + settings).joined(separator: "\n")
    }

    func outbox() async throws(ChatRefusal) -> String {
        #if OUTBOX
        guard let outbox = self.visit.outbox else {
            throw ChatRefusal(sentence: "no outbox: start with --outbox FILE")
        }
        do throws(OutboxError) {
            let waiting = try await outbox.entries().filter { $0.delivery.outcome == nil }
            return waiting.isEmpty ? "nothing waits" : waiting.map(\.line).joined(separator: "\n")
        } catch {
            throw ChatRefusal(sentence: error.message)
        }
        #else
        throw ChatRefusal(sentence: "the outbox is not built in: switch the trait Outbox of the package linkspan on")
        #endif
    }

    func drain(within limit: Duration) async -> Int { await self.visit.drain(within: limit) }

    /// Checks the length of a name or a room: in an entry, one that the server refuses would end the connection.
    private static func check(_ label: String, _ what: String) throws(ChatRefusal) {
        guard (1...64).contains(label.unicodeScalars.count) else {
            throw ChatRefusal(sentence: "a \(what) must have 1 to 64 characters")
        }
    }

    private static func refusing<Value>(
        _ body: () async throws(LinkspanError) -> Value
    ) async throws(ChatRefusal) -> Value {
        do throws(LinkspanError) { return try await body() } catch { throw ChatRefusal(sentence: error.message) }
    }
}
