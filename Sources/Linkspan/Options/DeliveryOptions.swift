/// Settings of deliveries: limits, repetition, keys and replies.
public struct DeliveryOptions: Sendable, Hashable {
    /// The number of deliveries that may wait for their replies; more are refused (default 10,000).
    ///
    /// Deliveries that an earlier process left in a ``DeliveryStore`` count from when they are loaded; while so many
    /// wait, no more are.
    public var commands = 10_000
    /// Their bytes (default 64 MiB).
    ///
    /// One delivery alone may be larger.
    public var bytes = 64 << 20
    /// The time a delivery waits for its reply on an open link before it is sent again (default 20 s).
    public var repeatAfter = Duration.seconds(20)
    /// The number of times a delivery is given to a link before it fails with code `timedOut`; nil for no limit
    /// (default nil).
    ///
    /// Attempts that no link took do not count.
    public var attempts: Int?
    /// The policy that reads replies; nil when every reply means that the delivery was taken (default nil).
    public var replies: ReplyPolicy?
    /// The number of replies with ``ReplyPolicy/Verdict/later`` after which a delivery is set aside: it fails with code
    /// `setAside` and the last reply as the details, and the next of its ordering key goes on (default 20).
    ///
    /// With a ``DeliveryStore`` they are counted over all processes.
    package var refusals = 20
    /// The place of a delivery's key in what is sent, for a server that recognises by it a delivery that it has had
    /// before (default nil: nowhere, since the payload has a key of the app's own, or the server applies repetitions again).
    public var keyPlacement: KeyPlacement?
    /// Whether deliveries wait for `connect()` when the connection has failed permanently, for instance because
    /// the credentials were refused.
    ///
    /// Default false: they end at once, with code `disconnected` and the failure as the cause. With a ``DeliveryStore``
    /// they always wait.
    public var waitsAfterFailure = false

    /// A place of the key in what is sent.
    public enum KeyPlacement: Sendable, Hashable {
        /// Behind the other arguments, as a string.
        case lastArgument
        /// In the member with this name of the first argument, as a string.
        ///
        /// The first argument must be a JSON object without a member of this name; other deliveries are refused with
        /// code `encodingFailed`.
        case field(String)
    }

    /// The limits for deliveries that wait for replies.
    var limits: BufferLimits { BufferLimits(commands: self.commands, bytes: self.bytes) }
}
