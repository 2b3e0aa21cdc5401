/// A condition by which the keeper of a ``ConnectionManager`` opens, closes and releases pooled connections.
///
/// The keeper asks its rules in order, for a connection when a holder leaves and while nobody holds it when it goes down or its
/// idle timeout is over, and for all connections when the network path or the phase of the app changes and after the shortest
/// ``period`` of a rule. The first answer counts.
///
/// ```swift
/// /// Has no connection to the archive at night.
/// struct NightRule: KeeperRule {
///     let isNight: @Sendable () -> Bool
///
///     func decide(_ connection: KeptConnection) -> KeeperAction? {
///         guard connection.url.host == "archive.example" else { return nil }
///         guard !self.isNight() else {
///             return connection.state == .connected ? .disconnect : .keep
///         }
///         return connection.state == .disconnected ? .connect : nil
///     }
/// }
///
/// let manager = ConnectionManager(
///     options: .init { $0.rules.insert(NightRule { false }, at: 0) })
/// ```
public protocol KeeperRule: Sendable {
    /// What to do with a connection; nil to ask the next rule.
    ///
    /// Called on any thread, and must not block.
    func decide(_ connection: KeptConnection) -> KeeperAction?

    /// The interval at which the rules are asked while nothing happens; five seconds by default, and a millisecond at least.
    ///
    /// Each time wakes the process. Nil for a rule that looks neither at the time nor at anything beside the connection.
    var period: Duration? { get }
}

extension KeeperRule {
    /// Five seconds.
    public var period: Duration? { .seconds(5) }
}

/// What a ``KeeperRule`` decides for a connection.
public struct KeeperAction: Sendable {
    enum Kind {
        case keep, connect, disconnect, release
        case suspend(LinkspanError, patience: Duration?)
        case resume(within: Duration)
    }

    let kind: Kind

    /// Leaves it as it is, and asks no further rule.
    public static let keep = Self(kind: .keep)
    /// Connects it, unless it is up or about to be.
    public static let connect = Self(kind: .connect)
    /// Disconnects it; it stays down until a rule or a holder connects it.
    public static let disconnect = Self(kind: .disconnect)
    /// Ends it and removes it from the pool, unless it has a holder.
    public static let release = Self(kind: .release)
}

/// A pooled connection as a ``KeeperRule`` sees it.
public struct KeptConnection: Sendable {
    /// Where it is connected to, or will be.
    public let url: ConnectionURL
    /// Its state; a suspended connection is `disconnected`, and is released when nobody holds it.
    public let state: ConnectionState
    /// How many hold it.
    public let holders: Int
    /// The time since the last holder released it; zero while it is held.
    public let idleTime: Duration
    /// The time it may stay up without a holder: ``ConnectionOptions/idleTimeout``.
    public let idleTimeout: Duration
    /// Whether its first attempt is under way or due.
    var isAttempting = false
    /// Whether its holders have yet to open it.
    var isUnopened = false
    /// The signal that caused this look; nil for any other cause.
    var signal: KeeperSignal?
    /// Whether the app has been in the background for ``ConnectionManager/Options/backgroundIdleTimeout``.
    var isInBackground = false

    /// Makes a view of a connection, for tests of a rule.
    ///
    /// - Parameters:
    ///   - url: where it is connected to.
    ///   - state: its state.
    ///   - holders: how many hold it.
    ///   - idleTime: the time since the last holder released it.
    ///   - idleTimeout: the time it may stay up without a holder.
    public init(
        url: ConnectionURL, state: ConnectionState, holders: Int = 1, idleTime: Duration = .zero,
        idleTimeout: Duration = .zero
    ) {
        self.url = url
        self.state = state
        self.holders = holders
        self.idleTime = idleTime
        self.idleTimeout = idleTimeout
    }
}
