import Linkspan

/// The rooms, and what people may do in them: requests go in, answers and news come out.
///
/// Nothing in here waits, so each request is complete before the next one starts. That is what gives every receiver the
/// same order.
struct ChatRooms: Sendable {
    /// Something that one connection is to hear.
    struct News: Sendable {
        var member: UInt64
        var event: String
        var payload: Payload
    }

    private struct Room: Sendable {
        /// Connections and the names of their people, in the order in which they came.
        var members: [(id: UInt64, name: String)] = []
        var history = RoomHistory()

        func has(_ id: UInt64) -> Bool { self.members.contains { $0.id == id } }

        var names: [String] { Set(self.members.map(\.name)).sorted() }
    }

    private var rooms: [String: Room] = [:]

    /// Lets a connection in, and into the rooms it asks for.
    mutating func enter(_ entry: ChatEntry, as id: UInt64) -> [News] {
        entry.rooms.flatMap { self.join(id, entry.name, $0, seen: entry.seen[$0]) }
    }

    /// Takes a connection that has ended out of all its rooms.
    mutating func depart(_ id: UInt64, _ name: String) -> [News] {
        let rooms = self.rooms.filter { $0.value.has(id) }.keys.sorted()
        return rooms.flatMap { self.leave(id, name, $0) }
    }

    /// Does what is asked for.
    mutating func perform(
        _ request: ChatRequest, by id: UInt64, _ name: String
    ) throws(ChatRequest.Problem) -> (answer: ChatVocabulary.Answer, news: [News]) {
        var answer = ChatVocabulary.Answer(ok: true)
        switch request {
        case .join(let room, let seen):
            let news = self.join(id, name, room, seen: seen)
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
            guard let line = self.rooms[room]?.history.add(text, id: key, from: name, in: room) else {
                return (answer, [])
            }
            answer.seq = line.seq
            return (answer, self.news("message", line, to: room, except: id))
        case .who(let room):
            try self.requireMember(id, of: room)
            answer.members = self.rooms[room]?.names
            return (answer, [])
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

    private mutating func join(_ id: UInt64, _ name: String, _ label: String, seen: Int?) -> [News] {
        var room = self.rooms[label] ?? Room()
        guard !room.has(id) else { return [] }
        var news: [News] = []
        // A person who reconnects before the old connection is missed never left, as the others see it.
        if !room.members.contains(where: { $0.name == name }) {
            news += self.news("joined", ChatVocabulary.Presence(room: label, name: name), to: label, except: id)
        }
        news += Self.catchUp(id, label, room.history, seen: seen)
        room.members.append((id, name))
        self.rooms[label] = room
        return news
    }

    /// Tells where the room stands, and what was said since `seen`.
    private static func catchUp(_ id: UInt64, _ room: String, _ history: RoomHistory, seen: Int?) -> [News] {
        var news: [News] = []
        let lines = seen.map { history.lines(after: $0) } ?? []
        if let seen, seen + lines.count != history.last {
            let lost = history.last - lines.count - seen
            let gap = ChatVocabulary.Gap(room: room, lines: lost > 0 ? lost : nil)
            news.append(News(member: id, event: "gap", payload: .of(gap)))
        }
        let position = ChatVocabulary.Position(room: room, seq: history.last - lines.count)
        news.append(News(member: id, event: "room", payload: .of(position)))
        return news + lines.map { News(member: id, event: "message", payload: .of($0)) }
    }

    private mutating func leave(_ id: UInt64, _ name: String, _ label: String) -> [News] {
        self.rooms[label]?.members.removeAll { $0.id == id }
        guard let room = self.rooms[label], !room.members.contains(where: { $0.name == name }) else { return [] }
        return self.news("left", ChatVocabulary.Presence(room: label, name: name), to: label, except: id)
    }

    private func news(_ event: String, _ value: some Encodable, to room: String, except sender: UInt64) -> [News] {
        let payload = Payload.of(value)
        let others = (self.rooms[room]?.members ?? []).filter { $0.id != sender }
        return others.map { News(member: $0.id, event: event, payload: payload) }
    }
}

extension Payload {
    /// Values made of texts and numbers can always be encoded.
    static func of(_ value: some Encodable) -> Payload { (try? Payload(value)) ?? .empty }
}
