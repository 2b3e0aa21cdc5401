/// Limits for the commands that wait while a connection is not up, and the rule for those beyond the limits.
///
/// Commands on their way to the connection's executor count as well. While the link takes commands at once, up to
/// 16,384 of them with 16 MiB may be on their way instead, and they wait beyond the limits if the link becomes full
/// meanwhile: a command that was taken is not refused later.
public struct BufferLimits: Sendable, Hashable {
    /// Commands that may wait.
    ///
    /// Default 1,000.
    public var commands = 1_000
    /// Bytes that may wait.
    ///
    /// Default 4 MiB. One command alone may be larger. Of a send that replaces a smaller one, the difference counts.
    public var bytes = 4 << 20
    /// The rule for a command that does not fit.
    ///
    /// Default ``Overflow/refuse``.
    public var overflow = Overflow.refuse
    /// The longest time a command may wait, even if its own timeout is longer; it then fails with code `timedOut`.
    ///
    /// Default nil: as long as it takes.
    public var maxAge: Duration?
    /// Whether waiting requests fail with code `disconnected` as soon as an attempt of a connection that was never up has
    /// failed for a reason that waiting hardly mends: unknown name, refused connection, TLS, another protocol, 404.
    ///
    /// Default false: they wait, because a device may be offline and a server may be restarting when an app starts. Set it
    /// for tools and tests. Reasons after which no attempt follows fail what waits in any case.
    public var failsFast = false

    /// The rule for a command that does not fit.
    ///
    /// The outcome of a command tells that it was dropped.
    public enum Overflow: Sendable, Hashable {
        /// The new command is refused: the call throws.
        case refuse
        /// The oldest waiting commands are dropped.
        case dropOldest
        /// The newest waiting command is dropped for the new one.
        case dropNewest
    }
}
