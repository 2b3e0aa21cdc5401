import Linkspan
import LinkspanInMemory
import Synchronization

/// The server half of PROTOCOL.md over a hub: what `server.py` is for the network, without lasting storage.
@available(macOS 15, *)
struct ChatHub: Sendable {
    /// The hub that chatters connect to.
    let hub = InMemoryHub()

    init(rooms: ChatRooms = ChatRooms()) {
        let chat = Chat(rooms)
        self.hub.onConnect { peer throws(LinkspanError) in try chat.admit(peer) }
    }

    /// The connections of a person.
    func peers(named name: String) -> [HubPeer] {
        self.hub.peers.filter { $0.request.credentials.auth?[0]?["name"]?.string == name }
    }
}

/// Brings the hub's clients to the rooms.
///
/// The hub handles one event at a time and picks its recipients at once: one that joins a moment later gets it
/// from the history, and not twice.
@available(macOS 15, *)
private final class Chat: Sendable {
    private struct State: Sendable {
        var rooms: ChatRooms
        var peers: [UInt64: HubPeer] = [:]
    }

    private let state: Mutex<State>

    init(_ rooms: ChatRooms) { self.state = Mutex(State(rooms: rooms)) }

    func admit(_ peer: HubPeer) throws(LinkspanError) {
        let entry: ChatEntry
        do throws(ChatRequest.Problem) {
            entry = try ChatEntry(peer.request.credentials.auth)
        } catch {
            let details = try Payload(["code": error.code])
            throw LinkspanError(.credentialsRefused, error.message, details: details)
        }
        peer.onOther { [weak self] in self?.handle($0, entry.name) }
        peer.onEnd { [weak self, weak peer] in
            if let peer { self?.depart(peer, entry.name) }
        }
        self.tell { state in
            state.peers[peer.id] = peer
            return state.rooms.enter(entry, as: peer.id)
        }
    }

    private func depart(_ peer: HubPeer, _ name: String) {
        self.tell { state in
            state.peers[peer.id] = nil
            return state.rooms.depart(peer.id, name)
        }
    }

    private func handle(_ message: HubMessage, _ name: String) {
        var answer = ChatVocabulary.Answer(ok: true)
        self.tell { state in
            do throws(ChatRequest.Problem) {
                let request = try ChatRequest(message.event, message.payload)
                let outcome = try state.rooms.perform(request, by: message.peer.id, name)
                answer = outcome.answer
                return outcome.news
            } catch {
                let problem = ChatVocabulary.Answer.Problem(code: error.code, message: error.message)
                answer = ChatVocabulary.Answer(ok: false, error: problem)
                return []
            }
        }
        message.reply(.of(answer))
    }

    /// Sends the outcome to those concerned.
    private func tell(_ decide: (inout State) -> [ChatRooms.News]) {
        let letters = self.state.withLock { state in
            let news = decide(&state)
            return news.compactMap { news in state.peers[news.member].map { (peer: $0, news: news) } }
        }
        for letter in letters { letter.peer.emit(letter.news.event, letter.news.payload) }
    }
}
