internal import DequeModule
internal import LinkspanRuntime

/// Something that a connection does, in the order in which it was decided.
enum CoreOutput {
    // Indirect where it holds instants, whose size the compiler does not know: all outputs would be moved more slowly.
    indirect case announce(StateChange)
    indirect case report(ConnectionProgress)
    case provideCredentials(epoch: UInt64, reason: CredentialRequest.Reason)
    case openLink(PendingAttempt)
    case endLink(any Link, LinkClosing?)
    case giveBackAdmission
    /// Does what the sending side has decided.
    case outgoing(OutgoingOutput)
    /// Calls the listeners to outgoing commands.
    case tellOutgoing(Command)
    /// Gives a new observer of states the latest change.
    case introduce(observer: UInt64)
    /// Brings held messages to a listener that has just been added.
    case replay(event: String)
    /// Answers a caller when what the link was given has left.
    case awaitFlush(Promise<Void>)
    /// Calls a caller back that has asked for something.
    case call(@Sendable () -> Void)
}

/// The outputs of a connection that wait to be carried out, and whether foreign code runs that must not call back.
///
/// Confined to the connection's executor. Outputs are carried out one after the other, and those that they cause come behind
/// them. So callbacks never nest, and what a callback asks for happens after it has returned.
final class OutputQueue {
    // Taken out one by one, before each is carried out.
    @exclusivity(unchecked) var outputs: Deque<CoreOutput> = []
    /// Whether a link, an observer, an interceptor or a policy is being called: what these ask for happens after the turn.
    @exclusivity(unchecked) var isCalling = false

    func append(_ output: CoreOutput) { self.outputs.append(output) }

    /// Calls a link, the observer, an interceptor or a policy of the app.
    func calling<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let former = self.isCalling
        self.isCalling = true
        defer { self.isCalling = former }
        return try body()
    }
}
