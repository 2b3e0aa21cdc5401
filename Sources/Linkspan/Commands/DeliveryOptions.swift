/// Settings of deliveries: limits, repetition, keys and replies.
public struct DeliveryOptions: Sendable, Hashable {
    /// The number of deliveries that may wait for their replies; more are refused.
    ///
    /// Default 10,000.
    public var commands = 10_000
    /// Their bytes.
    ///
    /// Default 64 MiB. One delivery alone may be larger.
    public var bytes = 64 << 20
    /// The time a delivery waits for its reply on an open link before it is sent again.
    ///
    /// Default 20 s.
    public var repeatAfter = Duration.seconds(20)
    /// The number of times a delivery is given to a link before it fails with code `timedOut`; nil for no limit.
    ///
    /// Default nil. Attempts that no link took do not count.
    public var attempts: Int?
    /// The policy that reads replies; nil when every reply means that the delivery was taken.
    ///
    /// Default nil.
    public var replies: ReplyPolicy?
    /// After how many replies that say ``ReplyPolicy/Verdict/later`` a delivery is set aside: it fails with code
    /// `setAside` and the last reply as the details, and the next of its ordering key goes on.
    ///
    /// Default 20, counted within a process.
    public var refusals = 20
    /// Whether a delivery's key is sent as a string behind its other arguments, for a server that recognises by it a
    /// delivery that it has had before.
    ///
    /// Default false: the payload has a key of the app's own, or the server does not mind.
    public var appendsKey = false
    /// Whether deliveries wait for `connect()` when the connection has failed permanently, for instance because
    /// the credentials were refused.
    ///
    /// Default false: they end at once, with code `disconnected` and the failure as the cause. With a ``DeliveryStore``
    /// they always wait.
    public var waitsAfterFailure = false

    /// What may wait for replies.
    var limits: BufferLimits { BufferLimits(commands: self.commands, bytes: self.bytes) }
}
