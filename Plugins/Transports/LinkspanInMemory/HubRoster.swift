internal import LinkspanRuntime

/// The clients of a hub and their rooms; used from any thread.
final class HubRoster<Client: Sendable>: Sendable {
    private struct State: Sendable {
        var clients: [UInt64: Client] = [:]
        var rooms: [String: Set<UInt64>] = [:]
        var lastID: UInt64 = 0
    }

    /// Guards the roster, which is read from any thread.
    private let state = Lock(State())

    /// Adds the client that `make` makes of its number.
    func add(_ make: (UInt64) -> Client) -> Client {
        self.state.withLock { state in
            state.lastID += 1
            let client = make(state.lastID)
            state.clients[state.lastID] = client
            return client
        }
    }

    /// Removes a client from the hub and its rooms; returns false when it was not there.
    @discardableResult
    func remove(_ id: UInt64) -> Bool {
        self.state.withLock { state in
            for room in state.rooms.keys { state.rooms[room]?.remove(id) }
            state.rooms = state.rooms.filter { !$0.value.isEmpty }
            return state.clients.removeValue(forKey: id) != nil
        }
    }

    func join(_ id: UInt64, _ room: String) {
        self.state.withLock { state in
            guard state.clients[id] != nil else { return }
            state.rooms[room, default: []].insert(id)
        }
    }

    func leave(_ id: UInt64, _ room: String) {
        self.state.withLock { state in
            state.rooms[room]?.remove(id)
            if state.rooms[room]?.isEmpty == true { state.rooms[room] = nil }
        }
    }

    /// The clients in a room, or all when it is nil, in the order in which they came.
    func members(of room: String?) -> [Client] {
        self.state.withLock { state in
            let ids = room.map { state.rooms[$0] ?? [] } ?? Set(state.clients.keys)
            return ids.sorted().compactMap { state.clients[$0] }
        }
    }
}
