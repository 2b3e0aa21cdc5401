/// A command that is ready for the link.
///
/// Not copyable: a command goes to the link, and then to where its reply is awaited.
struct ReadyCommand: ~Copyable {
    let command: Command
    /// The number of its reply, if it gets one.
    let requestID: UInt64?
    /// The message for the link when it is not the command's own: that of a delivery.
    let delivery: OutboundMessage?
    /// True for a repeated delivery: an earlier attempt may have reached the server.
    var isRepeated = false

    var message: OutboundMessage { self.delivery ?? self.command.message }

    /// Gives the command to a link, as an interceptor has left it if there is one.
    borrowing func give(_ intercepted: OutboundMessage?, to link: any Link) -> SendAcceptance {
        guard let delivery = self.delivery else { return link.send(intercepted ?? self.command.message) }
        return link.deliver(intercepted ?? delivery, key: self.command.key, isRepeated: self.isRepeated)
    }
}
