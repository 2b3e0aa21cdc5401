import Linkspan
import LinkspanInMemory

/// The server half of PROTOCOL.md over the in-memory hub: what `server.py` is for the network.
struct ChatHub: Sendable {
    /// The hub that chatters connect to.
    let hub = InMemoryHub()

    init() {
        let hub = self.hub
        hub.onConnect { peer throws(LinkspanError) in
            let entry = try Self.entry(of: peer)
            for room in entry.rooms {
                peer.join(room)
                Self.tell(hub, "joined", room, entry.name, except: peer)
            }
            peer.on("say") { Self.say($0, entry.name, hub) }
            peer.onOther { $0.reply(Self.answer("bad_request", "there is no such event")) }
            peer.onEnd {
                for room in entry.rooms { Self.tell(hub, "left", room, entry.name, except: peer) }
            }
        }
    }

    private static func entry(of peer: HubPeer) throws(LinkspanError) -> ChatVocabulary.Entry {
        guard let auth = peer.request.credentials.auth, let entry = try? auth.decode(ChatVocabulary.Entry.self),
            !entry.name.isEmpty
        else { throw LinkspanError(.credentialsRefused, "a name must have 1 to 64 characters") }
        return entry
    }

    private static func say(_ message: HubMessage, _ name: String, _ hub: InMemoryHub) {
        guard let say = try? message.payload.decode(ChatVocabulary.Say.self) else {
            return message.reply(Self.answer("bad_request", "the payload is not a line"))
        }
        let isMember = hub.members(of: say.room).contains { $0 === message.peer }
        guard isMember else { return message.reply(Self.answer("not_in_room", "join the room first")) }
        let line = ChatVocabulary.Line(room: say.room, from: name, text: say.text, id: say.id)
        if let payload = try? Payload(line) { hub.emit("message", payload, to: say.room, except: message.peer) }
        message.reply(Self.answer(nil, ""))
    }

    private static func tell(_ hub: InMemoryHub, _ event: String, _ room: String, _ name: String, except: HubPeer) {
        guard let payload = try? Payload(ChatVocabulary.Presence(room: room, name: name)) else { return }
        hub.emit(event, payload, to: room, except: except)
    }

    private static func answer(_ code: String?, _ message: String) -> Payload {
        let problem = code.map { ChatVocabulary.Answer.Problem(code: $0, message: message) }
        return (try? Payload(ChatVocabulary.Answer(ok: code == nil, error: problem))) ?? .empty
    }
}
