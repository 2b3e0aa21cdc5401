/// A command that is ready for the link.
///
/// Not copyable: a command goes to the link, and then to where its reply is awaited.
struct ReadyCommand: ~Copyable {
    let command: Command
    /// The number of its reply, if it gets one.
    let requestID: UInt64?
    /// The message for the link when it is not the command's own: that of a delivery.
    let delivery: OutboundMessage?

    var message: OutboundMessage { self.delivery ?? self.command.message }
}
