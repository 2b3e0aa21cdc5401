/// A command as it was handed to the link.
public struct OutgoingMessage: Sendable {
    /// The name of the event.
    public let event: String
    /// Its arguments.
    public let payload: Payload
    /// What is promised about it.
    public let kind: Command.Kind

    /// Makes a message, for those who write a ``ManagedConnection`` of their own.
    public init(event: String, payload: Payload, kind: Command.Kind) {
        self.event = event
        self.payload = payload
        self.kind = kind
    }

    init(_ command: Command) {
        self.init(event: command.event, payload: command.payload, kind: command.kind)
    }
}
