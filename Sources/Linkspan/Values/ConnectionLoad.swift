/// The used part of a connection's bounded room: commands that wait to be sent, and deliveries without a reply.
struct ConnectionLoad: Sendable, Hashable {
    var commands = 0
    var bytes = 0
    var deliveries = 0
    var deliveryBytes = 0

    /// Commands that wait to be sent or, for deliveries, to be answered.
    var waiting: Int { self.commands + self.deliveries }

    mutating func add(_ command: Command, times count: Int = 1) {
        if command.isOfDelivery {
            self.deliveries += count
            self.deliveryBytes += count * command.byteCount
        } else {
            self.commands += count
            self.bytes += count * command.byteCount
        }
    }

    mutating func remove(_ command: Command) { self.add(command, times: -1) }

    static func + (one: Self, other: Self) -> Self {
        Self(
            commands: one.commands + other.commands, bytes: one.bytes + other.bytes,
            deliveries: one.deliveries + other.deliveries, deliveryBytes: one.deliveryBytes + other.deliveryBytes)
    }
}

extension Command {
    /// The error of a command that is refused because so much waits.
    func bufferFull(with load: ConnectionLoad) -> LinkspanError {
        LinkspanError(
            .bufferFull,
            "'\(self.event)' refused: the buffer is full with \(load.commands) commands, \(load.bytes) bytes",
            certainty: .notSent)
    }
}

/// A key under which a newer command replaces one that waits has come, has another command, or has gone.
struct KeyChange: Sendable {
    var key: String
    /// The size of its command; nil when it has gone.
    var byteCount: Int?
}
