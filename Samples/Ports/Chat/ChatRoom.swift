import LinkspanKit

/// A line of a room.
struct RoomLine: Codable, Sendable, Hashable {
    var room: String
    var text: String
}

/// The server's confirmation of a line.
struct RoomReceipt: Codable, Sendable, Hashable {
    var number: Int
}

extension Event where Value == RoomLine, Reply == RoomReceipt {
    static var say: Self { Event("say") }
}
extension Event where Value == String, Reply == [String] {
    static var who: Self { Event("who") }
}

/// The getting-started chat: typed requests, and a token that is renewed before it expires and after a refusal.
final class ChatRoom: Sendable {
    private let connection: ConnectionHandler

    init(
        _ url: String, token: @escaping @Sendable (CredentialRequest.Reason) async throws -> (String, Duration),
        show: @escaping @Sendable (RoomLine) -> Void
    ) throws {
        self.connection = try ConnectionBuilder(url).transport(.socketIO)
            .credentials(
                .provider { request in
                    let (token, lifetime) = try await token(request.reason)
                    return try Credentials(auth: ["token": token], validFor: lifetime)
                }
            )
            .connect()
        try self.connection.on("line", as: RoomLine.self) { line in
            if case .success(let line) = line { show(line) }
        }
    }

    /// Says a line, at least once and in order, over as many reconnects as it takes.
    func say(_ text: String, in room: String) async throws -> Int {
        try await self.connection.deliver(.say, RoomLine(room: room, text: text)).number
    }

    func members(of room: String) async throws -> [String] {
        try await self.connection.request(.who, room, timeout: .seconds(5))
    }

    func leave() { self.connection.release() }
}
