/// Something a connection does at the end of a turn, in the order in which it was decided.
enum Effect {
    // Indirect where it holds instants, whose size the compiler does not know: all effects would be moved more slowly.
    indirect case announce(StateChange)
    indirect case tellProgress(ConnectionProgress)
    case provideCredentials(epoch: UInt64, reason: CredentialRequest.Reason)
    case openLink(epoch: UInt64, attempt: Int, Credentials)
    case endLink(any Link, politely: Bool)
    case finish(Command, Result<Payload, LinkspanError>)
    case greet(epoch: UInt64)
    case giveBackAdmission
    case flush
    /// Begins the next turn of the flush after a while.
    case pauseFlush(UInt64, Duration)
    /// Gives a new observer of states the latest change.
    case introduce(observer: UInt64)
    /// Brings held messages to a listener that has just been added.
    case replay(event: String)
    case tellOutgoing(Command)
    /// Asks something of the store, at the end of the turn.
    indirect case callStore(StoreCall)
    /// The store has failed: tries again after a while.
    case retryStore(session: UInt64, any Error)
    /// Calls a caller back that has asked for something.
    case answer(@Sendable () -> Void)
}

extension Command {
    func fail(_ code: LinkspanError.Code, _ certainty: LinkspanError.Certainty, _ message: String) -> Effect {
        .finish(self, .failure(LinkspanError(code, "'\(self.event)' \(message)", certainty: certainty)))
    }
}
