/// What a connection does once its lock is released, in the order in which it was decided.
enum Effect: Sendable {
    case announce(StateChange)
    case provideCredentials(epoch: UInt64, reason: CredentialRequest.Reason)
    case openLink(epoch: UInt64, attempt: Int, Credentials)
    case endLink(any Link, politely: Bool)
    case stopWaiting(CredentialWait)
    case cancelTask(Task<Void, Never>)
    case finish(Command, Result<Payload, LinkspanError>)
    case greet(epoch: UInt64)
    case giveBackAdmission
    case flush
    /// Hands a command to the link, in line with everything else that happens.
    case transmit(CommandStateMachine.Outgoing, any Link, writables: UInt64)
    case introduce(observer: UInt64)
    case process(ArraySlice<LinkEvent>, from: LinkAdapter)
    case arm(ContinuousClock.Instant)
}
