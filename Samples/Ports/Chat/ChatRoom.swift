import LinkspanKit

/// A line of a room.
struct RoomLine: Codable, Sendable, Hashable {
    var room: String
    var text: String
}

extension Event where Value == String, Reply == [String] {
    static var who: Self { Event("who") }
}

/// The getting-started chat: typed requests, and a token that is renewed before it expires and after a refusal.
final class ChatRoom: Sendable {
    private let connection: ConnectionHandler

    convenience init(
        _ url: String, token: @escaping @Sendable (CredentialRequest.Reason) async throws -> (String, Duration),
        show: @escaping @Sendable (RoomLine) -> Void
    ) throws {
        let connection = try ConnectionBuilder(url).transport(.socketIO)
            .credentials(
                .provider { request in
                    let (token, lifetime) = try await token(request.reason)
                    return try Credentials(auth: ["token": token], validFor: lifetime)
                }
            )
            .connect()
        try self.init(connection, show: show)
    }

    /// The same over any connection, such as one that a file chooses.
    init(_ connection: ConnectionHandler, show: @escaping @Sendable (RoomLine) -> Void) throws {
        self.connection = connection
        try connection.on("line", as: RoomLine.self) { line in
            if case .success(let line) = line { show(line) }
        }
    }

    /// Says a line, at least once and in order, over as many reconnects as it takes.
    ///
    /// - Returns: the server's number of the line; nil from a broker, which has none.
    func say(_ text: String, in room: String) async throws -> Int? {
        try await self.connection.deliver("say", RoomLine(room: room, text: text))[0]?["number"]?.int
    }

    func members(of room: String) async throws -> [String] {
        try await self.connection.request(.who, room, timeout: .seconds(5))
    }

    func leave() { self.connection.release() }
}
