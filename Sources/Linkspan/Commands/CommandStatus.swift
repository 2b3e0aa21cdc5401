/// A command that has not had its outcome yet, as others see it.
public struct CommandStatus: Sendable, Hashable {
    /// Its identity, for ``Connection/cancel(_:)``.
    public var id: Command.ID
    /// What is promised about it.
    public var kind: Command.Kind
    /// The name of the event.
    public var event: String
    /// The size of its name and arguments.
    public var byteCount: Int
    /// Where it is.
    public var stage: Stage
    /// The key of a delivery, which is that of its ``DeliveryReceipt``; nil when it has none.
    public var key: String?

    /// The status of a command.
    public init(_ command: Command, _ stage: Stage) {
        self.id = command.id
        self.kind = command.kind
        self.event = command.event
        self.byteCount = command.byteCount
        self.stage = stage
        self.key = command.key
    }

    /// Where a command is.
    public enum Stage: Sendable, Hashable {
        /// It waits and has not been sent.
        case waiting
        /// It was sent, over a link that is gone, and waits to be sent again.
        case interrupted
        /// It was sent, and its reply is awaited.
        case underWay
    }
}
