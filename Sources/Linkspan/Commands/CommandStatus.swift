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

    /// Makes a status.
    public init(
        id: Command.ID, kind: Command.Kind, event: String, byteCount: Int, stage: Stage, key: String? = nil
    ) {
        self.key = key
        self.id = id
        self.kind = kind
        self.event = event
        self.byteCount = byteCount
        self.stage = stage
    }

    init(_ command: Command, _ stage: Stage) {
        self.init(
            id: command.id, kind: command.kind, event: command.event, byteCount: command.byteCount, stage: stage,
            key: command.key)
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
