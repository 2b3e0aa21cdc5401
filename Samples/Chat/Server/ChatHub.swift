import Linkspan
import LinkspanInMemory
import Synchronization

/// The server half of PROTOCOL.md over the in-memory hub: what `server.py` is for the network.
@available(macOS 15, *)
struct ChatHub: Sendable {
    /// The hub that chatters connect to.
    let hub = InMemoryHub()

    init() {
        let hub = self.hub
        let history = RoomHistory()
        hub.onConnect { peer throws(LinkspanError) in
            let entry = try Self.entry(of: peer)
            for room in entry.rooms { Self.enter(peer, room, entry, history, hub) }
            peer.on("say") { Self.say($0, entry.name, history, hub) }
            peer.onOther { $0.reply(Self.answer("bad_request", "there is no such event")) }
            peer.onEnd {
                for room in entry.rooms {
                    hub.emit("left", Self.payload(ChatVocabulary.Presence(room: room, name: entry.name)), to: room)
                }
            }
        }
    }

    private static func entry(of peer: HubPeer) throws(LinkspanError) -> ChatVocabulary.Entry {
        guard let auth = peer.request.credentials.auth, let entry = try? auth.decode(ChatVocabulary.Entry.self),
            (1...64).contains(entry.name.unicodeScalars.count)
        else { throw LinkspanError(.credentialsRefused, "a name must have 1 to 64 characters") }
        return entry
    }

    private static func enter(
        _ peer: HubPeer, _ room: String, _ entry: ChatVocabulary.Entry, _ history: RoomHistory, _ hub: InMemoryHub
    ) {
        let presence = ChatVocabulary.Presence(room: room, name: entry.name)
        hub.emit("joined", Self.payload(presence), to: room, except: peer)
        peer.join(room)
        let lines = history.lines(of: room)
        peer.emit("room", Self.payload(ChatVocabulary.Position(room: room, seq: lines.count)))
        guard let seen = entry.seen?[room] else { return }
        for line in lines.dropFirst(seen) { peer.emit("message", Self.payload(line)) }
    }

    private static func say(_ message: HubMessage, _ name: String, _ history: RoomHistory, _ hub: InMemoryHub) {
        guard let say = try? message.payload.decode(ChatVocabulary.Say.self) else {
            return message.reply(Self.answer("bad_request", "the payload is not a line"))
        }
        guard hub.members(of: say.room).contains(where: { $0 === message.peer }) else {
            return message.reply(Self.answer("not_in_room", "join the room first"))
        }
        if let line = history.add(say, from: name) {
            hub.emit("message", Self.payload(line), to: say.room, except: message.peer)
        }
        message.reply(Self.answer(nil, ""))
    }

    private static func answer(_ code: String?, _ message: String) -> Payload {
        let problem = code.map { ChatVocabulary.Answer.Problem(code: $0, message: message) }
        return Self.payload(ChatVocabulary.Answer(ok: code == nil, error: problem))
    }

    /// Values made of texts and numbers can always be encoded.
    private static func payload(_ value: some Encodable) -> Payload { (try? Payload(value)) ?? .empty }
}

/// What was said in each room, as long as the process lives.
@available(macOS 15, *)
private final class RoomHistory: Sendable {
    private let rooms = Mutex<[String: [ChatVocabulary.Line]]>([:])

    func lines(of room: String) -> [ChatVocabulary.Line] { self.rooms.withLock { $0[room] ?? [] } }

    /// Adds a line; nil when it is a repetition.
    func add(_ say: ChatVocabulary.Say, from name: String) -> ChatVocabulary.Line? {
        self.rooms.withLock { rooms in
            let lines = rooms[say.room] ?? []
            guard !lines.suffix(10_000).contains(where: { $0.id == say.id && $0.from == name }) else { return nil }
            let line = ChatVocabulary.Line(
                room: say.room, from: name, text: say.text, id: say.id, seq: lines.count + 1)
            rooms[say.room] = lines + [line]
            return line
        }
    }
}
