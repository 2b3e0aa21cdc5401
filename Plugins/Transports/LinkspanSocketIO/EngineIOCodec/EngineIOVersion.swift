/// A version of Engine.IO, which Socket.IO runs on, by its number in the client's query.
enum EngineIOVersion: String, Sendable {
    /// Engine.IO v4, of Socket.IO servers since 3.0: the server pings.
    case v4 = "4"
    /// Engine.IO v3, of Socket.IO servers up to 2.x: the client pings.
    case v3 = "3"

    /// The byte in front of the data of a binary WebSocket frame: version 3 has a type there.
    var binaryType: UInt8? { self == .v3 ? 4 : nil }
}
