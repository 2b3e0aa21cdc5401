import Observation

/// The chat as views observe it: rooms with their lines and members, who is typing, and the connection.
///
/// It talks to a ``ChatFloor`` as the terminal does, so it works over every transport, and a test has a floor of its own.
@available(macOS 15, *)
@MainActor
@Observable
final class ChatModel {
    /// Something that a room shows.
    enum Entry: Identifiable, Hashable, Sendable {
        case line(ChatFloorLine)
        /// A sentence of the app's own.
        case notice(number: Int, String)

        var id: String {
            switch self {
            case .line(let line): "line \(line.id)"
            case .notice(let number, _): "notice \(number)"
            }
        }
    }

    /// The most entries that a room keeps.
    private static let capacity = 5_000
    /// How long somebody is shown as typing after the last sign.
    private static let typingTime = Duration.seconds(5)

    private(set) var name: String
    /// The rooms that one is in, by name.
    private(set) var rooms: [String]
    private(set) var entries: [String: [Entry]] = [:]
    private(set) var members: [String: [String]] = [:]
    private(set) var topics: [String: String] = [:]
    /// The count of lines in each other room since the user left it.
    private(set) var unread: [String: Int] = [:]
    private(set) var status = ShownStatus.connecting
    private(set) var roundTrip: Duration?
    /// How many lines are not confirmed yet.
    private(set) var waiting = 0
    /// The number of the latest sign that somebody is typing, by room and name.
    private var signs: [String: [String: Int]] = [:]
    private var lastNumber = 0

    /// The room where lines are said.
    private(set) var room: String?

    @ObservationIgnored private let floor: any ChatFloor

    init(name: String, room: String, floor: any ChatFloor) {
        self.name = name
        self.rooms = [room]
        self.room = room
        self.floor = floor
    }

    /// Those who are typing in the current room, by name.
    var typing: [String] { self.room.flatMap { self.signs[$0] }.map { $0.keys.sorted() } ?? [] }

    /// Follows events until the task is cancelled or the source ends.
    func run() async {
        await withDiscardingTaskGroup { group in
            for await event in self.floor.events {
                guard let sign = self.hear(event) else { continue }
                group.addTask { await self.forgetLater(sign) }
            }
            group.cancelAll()
        }
    }

    /// Waits until every line is confirmed or rejected, or the time is up.
    ///
    /// - Returns: how many lines are still open.
    func finish(within limit: Duration) async -> Int { await self.floor.drain(within: limit) }
}

// MARK: - What happens

@available(macOS 15, *)
extension ChatModel {
    /// A sign that somebody is typing.
    private struct Sign: Sendable {
        var room: String
        var name: String
        var number: Int
    }

    private func hear(_ event: ChatFloorEvent) -> Sign? {
        switch event {
        case .line(let line): self.show(line)
        case .typing(let name, let room): return self.sign(of: name, in: room)
        case .joined(let name, let room):
            self.members[room] = Set(self.members[room] ?? []).union([name]).sorted()
            self.note("\(name) joined", in: room)
        case .left(let name, let room):
            self.members[room]?.removeAll { $0 == name }
            self.signs[room]?[name] = nil
            self.note("\(name) left", in: room)
        case .room(let room): self.enter(room)
        case .out(let room, let why):
            self.rooms.removeAll { $0 == room }
            self.note("cannot join \(room): \(why)")
        case .members(let names, let room), .present(let names, let room): self.members[room] = names.sorted()
        case .refused(let sentence): self.note(sentence)
        case .topic(let topic, let room, let name):
            self.topics[room] = topic.isEmpty ? nil : topic
            if let name { self.note("\(name) changed the topic", in: room) }
        case .notice(let sentence): self.note(sentence)
        case .waiting(let count): self.waiting = count
        case .roundTrip(let time): self.roundTrip = time
        case .connection(let status, let sentence):
            self.status = status
            if let sentence { self.note(sentence) }
        }
        return nil
    }

    private func show(_ line: ChatFloorLine) {
        // What is for one person alone is shown where one is.
        let room = line.recipient == nil ? line.room : self.room ?? line.room
        self.signs[room]?[line.from] = nil
        var entries = self.entries[room] ?? []
        // The outcome of a line follows soon.
        if let index = entries.lastIndex(where: { $0.id == Entry.line(line).id }) {
            entries[index] = .line(line)
        } else {
            entries.append(.line(line))
            if room != self.room { self.unread[room, default: 0] += 1 }
        }
        self.entries[room] = entries.suffix(Self.capacity)
    }

    private func sign(of name: String, in room: String) -> Sign {
        self.lastNumber += 1
        self.signs[room, default: [:]][name] = self.lastNumber
        return Sign(room: room, name: name, number: self.lastNumber)
    }

    private func forgetLater(_ sign: Sign) async {
        guard (try? await Task.sleep(for: Self.typingTime)) != nil else { return }
        if self.signs[sign.room]?[sign.name] == sign.number { self.signs[sign.room]?[sign.name] = nil }
    }

    private func enter(_ room: String?) {
        self.room = room
        guard let room else { return }
        if !self.rooms.contains(room) { self.rooms = (self.rooms + [room]).sorted() }
        self.unread[room] = nil
    }

    private func note(_ sentence: String, in room: String? = nil) {
        guard let room = room ?? self.room else { return }
        self.lastNumber += 1
        self.entries[room, default: []].append(.notice(number: self.lastNumber, sentence))
    }
}

// MARK: - What is asked for

@available(macOS 15, *)
extension ChatModel {
    /// Says a line in the current room.
    func say(_ text: String) async {
        guard !text.allSatisfy(\.isWhitespace) else { return }
        await self.try { () async throws(ChatRefusal) in try await self.floor.say(text) }
    }

    /// Tells the current room that one is typing.
    func typed() async { await self.floor.typing() }

    /// Goes to a room, and enters it if one is not in it.
    func go(to room: String) async {
        let room = String(room.drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
        guard !room.isEmpty else { return }
        await self.try { () async throws(ChatRefusal) in
            try await self.floor.join(room)
            // The server may have refused it by now.
            self.enter(await self.floor.room)
        }
    }

    /// Leaves a room.
    func leave(_ room: String) async {
        await self.try { () async throws(ChatRefusal) in
            try await self.floor.leave(room)
            self.rooms.removeAll { $0 == room }
            self.members[room] = nil
            self.signs[room] = nil
            self.enter(await self.floor.room)
        }
    }

    /// Looks who is in the current room.
    func refreshMembers() async { await self.try { () async throws(ChatRefusal) in try await self.floor.who() } }

    /// Takes another name.
    func rename(to name: String) async {
        await self.try { () async throws(ChatRefusal) in
            try await self.floor.nick(name)
            self.name = name
        }
    }

    /// Lets another adapter carry the session: `memory`, `socketio` or `websocket`.
    func use(transport: String, url: String? = nil) async {
        await self.try { () async throws(ChatRefusal) in try await self.floor.switchTransport(transport, url: url) }
    }

    /// Says something to one person alone.
    func tell(_ name: String, _ text: String) async {
        await self.try { () async throws(ChatRefusal) in try await self.floor.message(name, text) }
    }

    /// Gives the current room another topic; an empty one takes it away.
    func setTopic(_ topic: String) async {
        await self.try { () async throws(ChatRefusal) in try await self.floor.setTopic(topic) }
    }

    /// The lines of the current room that contain a text, in either case, the newest first.
    func search(_ text: String) -> [ChatFloorLine] {
        let text = text.lowercased()
        guard !text.isEmpty, let room = self.room else { return [] }
        return (self.entries[room] ?? []).reversed().compactMap { entry in
            guard case .line(let line) = entry, line.text.lowercased().contains(text) else { return nil }
            return line
        }
    }

    /// Disconnects, or connects again.
    func setOnline(_ isOnline: Bool) async {
        await self.try { () async throws(ChatRefusal) in
            try await isOnline ? self.floor.goOnline() : self.floor.goOffline()
        }
    }

    /// What the connection is doing and why, in some lines.
    func explain() async -> String { await self.floor.explain() }

    /// What waits in the outbox, in some lines.
    func outbox() async -> String {
        do throws(ChatRefusal) { return try await self.floor.outbox() } catch { return error.sentence }
    }

    /// Carries out a request, and shows the reason when it is refused.
    private func `try`(_ body: () async throws(ChatRefusal) -> Void) async {
        do throws(ChatRefusal) { try await body() } catch { self.note(error.sentence) }
    }
}
