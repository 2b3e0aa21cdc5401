import Linkspan
import Synchronization

/// Somebody who visits, the rooms they are in, and how much of each conversation they have seen.
@available(macOS 15, *)
final class Visitor: Sendable {
    private struct State: Sendable {
        var name: String
        /// The names that the visitor has or had.
        var names: Set<String>
        /// In the order of entering; the last one is where lines are said.
        var rooms: [String]
        /// The server of the latest entry.
        var server = ""
        /// Servers that are one with another, see ``Visitor/know(oneServer:)``.
        var aliases: [String: String] = [:]
        /// How far each conversation was seen, by server and room.
        var positions: [String: [String: ChatVocabulary.Seen]] = [:]

        /// What was seen at the server of the latest entry.
        var seen: [String: ChatVocabulary.Seen] {
            get { self.positions[self.server] ?? [:] }
            set { self.positions[self.server] = newValue }
        }

        mutating func come(to url: ConnectionURL) {
            self.server = self.aliases[url.server] ?? url.server
        }
    }

    /// Holds the state, which the credentials need as well.
    private final class Keeper: Sendable {
        private let state: Mutex<State>

        init(_ state: State) { self.state = Mutex(state) }

        func withLock<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
            self.state.withLock { state in body(&state) }
        }
    }

    /// Tells this visit's lines from all others.
    let session = String(UInt64.random(in: .min ... .max), radix: 36)
    /// Whose lines an outbox keeps: who it was that came, whatever name they take later.
    let account: String
    private let state: Keeper

    init(name: String, room: String) {
        let state = Keeper(State(name: name, names: [name], rooms: [room]))
        self.state = state
        self.account = name
        self.credentials = .provider(account: name) { request in
            let entry = state.withLock { state in
                state.come(to: request.url)
                let seen = state.seen.filter { state.rooms.contains($0.key) }
                return ChatVocabulary.Entry(
                    name: state.name, rooms: state.rooms, seen: seen.mapValues(\.seq),
                    numbering: seen.compactMapValues(\.numbering))
            }
            return try Credentials(auth: entry)
        }
    }

    var name: String { self.state.withLock { $0.name } }
    /// Where lines are said; nil after leaving the last room.
    var room: String? { self.state.withLock { $0.rooms.last } }
    var rooms: [String] { self.state.withLock { $0.rooms } }

    /// Endpoints lead to one server, which numbers lines the same way at all of them.
    func know(oneServer endpoints: [ConnectionURL]) {
        guard let first = endpoints.first?.server else { return }
        self.state.withLock { state in
            for endpoint in endpoints { state.aliases[endpoint.server] = first }
        }
    }

    func isIn(_ room: String) -> Bool { self.state.withLock { $0.rooms.contains(room) } }
    func seen(in room: String) -> ChatVocabulary.Seen? { self.state.withLock { $0.seen[room] } }

    /// Whether the visitor has or had a name.
    func isOwn(_ name: String) -> Bool { self.state.withLock { $0.names.contains(name) } }

    /// Takes another name for an entry, and the former one again when the entry cannot be made.
    func rename<Failure: Error>(to name: String, _ enter: () throws(Failure) -> Void) throws(Failure) {
        let (former, names) = self.state.withLock { state in
            defer {
                state.name = name
                state.names.insert(name)
            }
            return (state.name, state.names)
        }
        do throws(Failure) {
            try enter()
        } catch {
            self.state.withLock { ($0.name, $0.names) = (former, names) }
            throw error
        }
    }

    /// Enters a room, or comes back to it.
    func enter(_ room: String) {
        self.state.withLock { state in
            state.rooms.removeAll { $0 == room }
            state.rooms.append(room)
        }
    }

    func leave(_ room: String) { self.state.withLock { state in state.rooms.removeAll { $0 == room } } }

    /// The server says where a room stands, which counts even if it is lower: then the server has lost its history.
    func move(to position: ChatVocabulary.Position) {
        let seen = ChatVocabulary.Seen(seq: position.seq, numbering: position.numbering)
        self.state.withLock { $0.seen[position.room] = seen }
    }

    /// A line was seen.
    func move(to line: ChatVocabulary.Line) { self.state.withLock { $0.seen[line.room]?.seq = line.seq } }

    /// The arguments of each entry: name, room, and the last lines seen.
    ///
    /// So a visitor is in their rooms again after every outage, and gets the lines said meanwhile. One source for the
    /// whole visit, over any transport; each server has positions of its own.
    let credentials: CredentialSource
}
