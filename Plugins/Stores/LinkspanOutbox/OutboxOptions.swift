#if OUTBOX
public import Logging

/// Settings of an outbox: limits, ages and the rules beyond them.
public struct OutboxOptions: Sendable {
    /// The number of deliveries of all accounts that may wait; more are refused (default 100,000).
    public var rows = 100_000
    /// Their bytes (default 256 MiB).
    public var bytes = 256 << 20
    /// The longest time a delivery may wait, over all restarts; an older one ends as expired when it is loaded (default
    /// 7 days).
    ///
    /// While the system runs, the monotonic clock counts.
    public var maximumAge = Duration.seconds(7 * 86_400)
    /// Outcomes that are kept until they are confirmed; beyond that the oldest make room (default 100,000).
    public var outcomes = 100_000
    /// The cipher for payloads and replies; rows written without one can still be read (default nil: they are written
    /// as they are).
    public var cipher: (any OutboxCipher)?
    /// Recorded events that may wait to be confirmed.
    ///
    /// More are dropped, and a gap marks their place; see ``Outbox/record(_:of:account:)``.
    /// Default 100,000.
    public var received = 100_000
    /// Whether deliveries without a key of the app's own get keys of the form `producer.session.order.count`, so that a
    /// server can remember one count and one reply for each ordering key instead of every key.
    ///
    /// `order` is a number that stands for the ordering key. Within an ordering key counts rise, with gaps. Default
    /// false.
    public var countsKeys = false
    /// Whether calls wait for a file that another process has open.
    ///
    /// Default false: they fail with code ``OutboxError/Code/inUse``, and a connection asks again every 5 s.
    public var waitsWhenInUse = false
    /// Gets an error of each incident: a damaged file moved aside, rows that are missing or altered, a full disk.
    ///
    /// Default: the one that swift-log makes for the label `linkspan.outbox`.
    public var logger = Logger(label: "linkspan.outbox")
    /// Called on the outbox's executor at each step that matters to a crash.
    @_spi(OutboxSteps) public var onStep: (@Sendable (_ step: String) -> Void)?

    init(_ configure: (inout Self) -> Void = { _ in }) { configure(&self) }
}
#endif
