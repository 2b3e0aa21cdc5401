/// Something that the sending side wants done, in the order in which it was decided.
enum OutgoingOutput {
    /// Gives a command its outcome.
    case finish(Command, Result<Payload, LinkspanError>)
    /// Performs a command that was held back.
    case perform(Command)
    /// Reports to a caller that its delivery is accepted.
    case accept(Command, String)
    /// Begins the app's greeting of a link.
    case greet(epoch: UInt64)
    /// Sends what waits.
    case flush
    /// Begins the next turn of the flush after a while.
    case pauseFlush(UInt64, Duration)
    /// Asks something of the store, at the end of the turn.
    indirect case callStore(StoreCall)
    /// The store has failed: asks it again after a while.
    case retryStore(session: UInt64, any Error)
}

extension Command {
    /// The end of the command with an error.
    func fail(
        _ code: LinkspanError.Code, _ certainty: LinkspanError.Certainty, _ message: String,
        because cause: LinkspanError? = nil
    ) -> OutgoingOutput {
        .finish(self, .failure(LinkspanError(code, "'\(self.event)' \(message)", because: cause, certainty: certainty)))
    }
}
