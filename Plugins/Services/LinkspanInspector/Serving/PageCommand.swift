internal import Linkspan

/// A wish of a page: one JSON object in a text message.
enum PageCommand: Sendable, Hashable {
    /// The connection that the page shows in detail.
    case select(UInt64?)
    /// A fault of one connection.
    case provoke(UInt64, ConnectionFault)
    /// The network path is lost, or there again, for all connections.
    case path(isLost: Bool)
    /// The plan's connection moves to another transport.
    case move(String)

    /// Reads a command; nil for anything else.
    init?(_ text: ArraySlice<UInt8>) {
        guard let object = (try? Payload(checking: text))?[0], let verb = object["do"]?.string else { return nil }
        let connection = object["connection"]?.int.flatMap { UInt64(exactly: $0) }
        switch (verb, connection) {
        case ("select", _): self = .select(connection)
        case ("drop", let id?): self = .provoke(id, .dropLink)
        case ("pause", let id?): self = .provoke(id, .pauseReading)
        case ("resume", let id?): self = .provoke(id, .resumeReading)
        case ("refuse", let id?): self = .provoke(id, .refuseCredentialsOnce)
        case ("pathLost", _): self = .path(isLost: true)
        case ("pathBack", _): self = .path(isLost: false)
        case ("move", _):
            guard let name = object["transport"]?.string else { return nil }
            self = .move(name)
        default: return nil
        }
    }

    /// Whether it disturbs the app, which configuration has to allow.
    var isFault: Bool {
        if case .select = self { false } else { true }
    }
}
