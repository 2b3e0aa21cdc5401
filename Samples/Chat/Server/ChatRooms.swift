import Linkspan

/// The rooms: requests go in, answers and events come out.
///
/// Nothing in here waits, so each request is complete before the next one starts. That is what gives every receiver the
/// same order.
struct ChatRooms: Sendable {
    /// An event for one connection.
    struct News: Sendable {
        var member: UInt64
        var event: String
        var payload: Payload
    }

    private struct Room: Sendable {
        /// Connections and their users' names, in the order of arrival.
        var members: [(id: UInt64, name: String)] = []
        var history: RoomHistory
        /// Empty for none.
        var topic = ""
        /// The room's number in the order in which rooms became empty; nil while it has members.
        var emptied: Int?

        func has(_ id: UInt64) -> Bool { self.members.contains { $0.id == id } }

        var names: [String] { Set(self.members.map(\.name)).sorted() }
    }

    /// The most rooms that one connection may be in.
    static let maximumJoined = 64
    /// The limit of empty rooms whose lines are kept.
    static let maximumEmpty = 1_000
    /// The most bytes that the lines of all rooms take, roughly.
    static let maximumBytes = 32 << 20
    /// The most bytes of missed lines that a connection gets when it enters: all of them wait for it at once, and one for
    /// which too much waits is dropped.
    static let maximumMissedBytes = 4 << 20

    /// Identifies the numbering of the lines: what was seen of another one has no meaning here.
    var numbering: String
    /// The number after which the lines of a new room begin: no room that was forgotten had a larger one.
    var start = 0
    /// Stores a line before anybody hears of it.
    var keep: @Sendable (Payload) throws(ChatRequest.Problem) -> Void = { _ in }
    private var rooms: [String: Room] = [:]
    /// The rooms that each connection is in.
    private var joined: [UInt64: Set<String>] = [:]
    /// How many rooms were left by everybody so far, and how many of them are kept.
    private var emptied = (count: 0, kept: 0)
    /// The bytes that the lines of all rooms take, roughly.
    private(set) var bytes = 0

    init(numbering: String = String(UInt64.random(in: .min ... .max), radix: 36)) { self.numbering = numbering }

    /// All lines, as they went out; first those of the room that was left first.
    var lines: [Payload] {
        self.rooms.values.sorted { $0.emptied ?? .max < $1.emptied ?? .max }.flatMap { room in
            var bytes = Int.max
            return room.history.lines(after: room.history.start, within: &bytes)
        }
    }

    /// Adds a line that was kept before this process began, and that nobody hears of now.
    mutating func restore(_ line: ChatVocabulary.Line) {
        if self.rooms[line.room]?.emptied != nil { self.emptied.kept -= 1 }
        self.add(line, .of(line))
        self.close(line.room)
    }

    /// Lets a connection in, and into the rooms it asks for.
    mutating func enter(_ entry: ChatEntry, as id: UInt64) -> [News] {
        var bytes = Self.maximumMissedBytes
        return entry.rooms.flatMap { self.join(id, entry.name, $0, seen: entry.seen[$0], within: &bytes) }
    }

    /// Takes a connection that has ended out of all its rooms.
    mutating func depart(_ id: UInt64, _ name: String) -> [News] {
        let rooms = (self.joined[id] ?? []).sorted()
        return rooms.flatMap { self.leave(id, name, $0) }
    }

    /// Carries out a request.
    mutating func perform(
        _ request: ChatRequest, by id: UInt64, _ name: String
    ) throws(ChatRequest.Problem) -> (answer: ChatVocabulary.Answer, news: [News]) {
        var answer = ChatVocabulary.Answer(ok: true)
        switch request {
        case .join(let room, let seen):
            let joined = self.joined[id] ?? []
            guard joined.contains(room) || joined.count < Self.maximumJoined else {
                throw ChatRequest.Problem("bad_request", "a connection may be in \(Self.maximumJoined) rooms")
            }
            var bytes = Self.maximumMissedBytes
            let news = self.join(id, name, room, seen: seen, within: &bytes)
            answer.members = self.rooms[room]?.names
            answer.seq = self.rooms[room]?.history.last
            return (answer, news)
        case .leave(let room):
            try self.requireMember(id, of: room)
            return (answer, self.leave(id, name, room))
        case .say(let room, let text, let key):
            // A retry may follow a reconnect: a line already taken is confirmed whatever became of the membership.
            if let taken = self.rooms[room]?.history.number(of: key, from: name) {
                answer.seq = taken
                return (answer, [])
            }
            try self.requireMember(id, of: room)
            let last = self.rooms[room]?.history.last ?? self.start
            let line = ChatVocabulary.Line(room: room, from: name, text: text, id: key, seq: last + 1)
            let payload = Payload.of(line)
            try self.keep(payload)
            self.add(line, payload)
            answer.seq = line.seq
            return (answer, self.news("message", payload, to: room, except: id))
        case .who(let room):
            try self.requireMember(id, of: room)
            answer.members = self.rooms[room]?.names
            return (answer, [])
        case .message(let recipient, let text, let key):
            let message = ChatVocabulary.Direct(from: name, to: recipient, text: text, id: key)
            return (answer, try self.news(of: message, by: id))
        case .topic(let room, let topic):
            try self.requireMember(id, of: room)
            self.rooms[room]?.topic = topic
            let news = ChatVocabulary.Topic(room: room, topic: topic, name: name)
            return (answer, self.news("topic", news, to: room, except: id))
        case .typing(let room):
            try self.requireMember(id, of: room)
            let presence = ChatVocabulary.Presence(room: room, name: name)
            return (answer, self.news("typing", presence, to: room, except: id))
        }
    }
}

extension ChatRooms {
    private func requireMember(_ id: UInt64, of room: String) throws(ChatRequest.Problem) {
        guard self.rooms[room]?.has(id) == true else {
            throw ChatRequest.Problem("not_in_room", "join the room first")
        }
    }

    private mutating func join(
        _ id: UInt64, _ name: String, _ label: String, seen: ChatVocabulary.Seen?, within bytes: inout Int
    ) -> [News] {
        var room = self.rooms[label] ?? Room(history: RoomHistory(after: self.start))
        guard !room.has(id) else { return [] }
        var news: [News] = []
        // A person who reconnects before the old connection times out never left, as the others see it.
        if !room.members.contains(where: { $0.name == name }) {
            news += self.news("joined", ChatVocabulary.Presence(room: label, name: name), to: label, except: id)
        }
        news += self.catchUp(id, label, room.history, seen: seen, within: &bytes)
        if !room.topic.isEmpty {
            let topic = ChatVocabulary.Topic(room: label, topic: room.topic)
            news.append(News(member: id, event: "topic", payload: .of(topic)))
        }
        room.members.append((id, name))
        if room.emptied != nil { self.emptied.kept -= 1 }
        room.emptied = nil
        self.rooms[label] = room
        self.joined[id, default: []].insert(label)
        return news
    }

    /// Sends the room's position and the lines since `seen`, within the byte limit.
    ///
    /// A position of another numbering is no position here: all lines may be new, and any number of others is lost.
    private func catchUp(
        _ id: UInt64, _ room: String, _ history: RoomHistory, seen: ChatVocabulary.Seen?, within bytes: inout Int
    ) -> [News] {
        var (news, lines): ([News], [Payload]) = ([], [])
        if let seen {
            let isOurs = seen.numbering ?? self.numbering == self.numbering
            let known = isOurs && (history.start...history.last).contains(seen.seq) ? seen.seq : nil
            lines = history.lines(after: known ?? history.start, within: &bytes)
            let lost = known.map { history.last - lines.count - $0 }
            if lost != 0 {
                let gap = ChatVocabulary.Gap(room: room, lines: lost)
                news.append(News(member: id, event: "gap", payload: .of(gap)))
            }
        }
        let position = ChatVocabulary.Position(
            room: room, seq: history.last - lines.count, numbering: self.numbering)
        news.append(News(member: id, event: "room", payload: .of(position)))
        return news + lines.map { News(member: id, event: "message", payload: $0) }
    }

    /// Sends a message to each connection of a person who shares a room with the sender.
    private func news(of message: ChatVocabulary.Direct, by id: UInt64) throws(ChatRequest.Problem) -> [News] {
        let rooms = (self.joined[id] ?? []).compactMap { self.rooms[$0] }
        let members = Set(rooms.flatMap { $0.members.filter { $0.name == message.to }.map(\.id) })
        guard !members.isEmpty else {
            throw ChatRequest.Problem("no_such_person", "nobody of that name is in a room with you")
        }
        let payload = Payload.of(message)
        return members.sorted().map { News(member: $0, event: "msg", payload: payload) }
    }

    private mutating func leave(_ id: UInt64, _ name: String, _ label: String) -> [News] {
        self.rooms[label]?.members.removeAll { $0.id == id }
        self.joined[id]?.remove(label)
        if self.joined[id]?.isEmpty == true { self.joined[id] = nil }
        if self.rooms[label]?.members.isEmpty == true { self.close(label) }
        guard let room = self.rooms[label], !room.members.contains(where: { $0.name == name }) else { return [] }
        return self.news("left", ChatVocabulary.Presence(room: label, name: name), to: label, except: id)
    }

    /// Keeps the lines of a room that everybody has left, because they may come back, unless too many are kept.
    private mutating func close(_ label: String) {
        guard self.rooms[label]?.history.isEmpty == false else { return self.forget(label) }
        self.emptied.count += 1
        self.emptied.kept += 1
        self.rooms[label]?.emptied = self.emptied.count
        guard self.emptied.kept > Self.maximumEmpty else { return }
        let empty = self.rooms.lazy.compactMap { label, room in room.emptied.map { (label, since: $0) } }
        guard let (oldest, _) = empty.min(by: { $0.since < $1.since }) else { return }
        self.emptied.kept -= 1
        self.forget(oldest)
    }

    private mutating func forget(_ label: String) {
        guard let history = self.rooms.removeValue(forKey: label)?.history else { return }
        self.bytes -= history.bytes
        self.start = max(self.start, history.last)
    }

    /// Adds a line, and drops the oldest lines of the largest rooms until all rooms together are within the limit.
    private mutating func add(_ line: ChatVocabulary.Line, _ payload: Payload) {
        // In place: a copy of the room that is alive here would make the change copy its history.
        self.bytes += self.rooms[line.room, default: Room(history: RoomHistory(after: line.seq - 1))].history
            .add(payload, line)
        while self.bytes > Self.maximumBytes,
            let largest = self.rooms.max(by: { $0.value.history.bytes < $1.value.history.bytes })?.key,
            let freed = self.rooms[largest]?.history.forgetOldest()
        {
            self.bytes -= freed
        }
    }

    private func news(_ event: String, _ value: some Encodable, to room: String, except sender: UInt64) -> [News] {
        self.news(event, Payload.of(value), to: room, except: sender)
    }

    private func news(_ event: String, _ payload: Payload, to room: String, except sender: UInt64) -> [News] {
        let others = (self.rooms[room]?.members ?? []).filter { $0.id != sender }
        return others.map { News(member: $0.id, event: event, payload: payload) }
    }
}

extension Payload {
    /// Values made of texts and numbers can always be encoded.
    static func of(_ value: some Encodable) -> Payload { (try? Payload(value)) ?? .empty }
}
