/// The state of a connection.
///
/// Five states; progress inside one is a detail of it (``ConnectionProgress``).
public enum ConnectionState: Sendable, Hashable, CaseIterable {
    /// Made, and never yet connected; its first attempt may be under way.
    case created
    /// Messages flow.
    case connected
    /// Down, without further attempts: by request, because another attempt cannot help, or suspended until the app is back in
    /// the foreground (``ConnectionProgress/suspended``).
    case disconnected
    /// Down, and an attempt is under way or due.
    case reconnecting
    /// Released: the connection has ended and cannot be used again.
    case released

    /// Whether the state machine may go from this state to `next`.
    package func canBecome(_ next: Self) -> Bool {
        switch self {
        case .created: next == .connected || next == .disconnected
        case .connected: next == .disconnected
        case .disconnected: next == .reconnecting || next == .released
        case .reconnecting: next == .connected || next == .disconnected
        case .released: false
        }
    }

    func wrongState(_ operation: String) -> LinkspanError {
        LinkspanError(.wrongState, "\(operation) is not allowed while the connection is \(self)")
    }
}

/// One change of a connection's state.
public struct StateChange: Sendable {
    /// Counts the changes of this connection, from 1.
    package var sequence: UInt64 = 0
    /// The state before.
    public var from: ConnectionState
    /// The state since.
    public var to: ConnectionState
    /// The reason for the change.
    public var reason: Reason
    /// Attempts since the connection was last up.
    public var attempt: Int
    /// The time of the change.
    public var time: ContinuousClock.Instant
    /// The time of the next attempt, for a change to `reconnecting`.
    public var nextAttempt: ContinuousClock.Instant?
    /// Whether messages may be missing, for a change to `connected` that is not the first.
    public var continuity: Continuity?

    /// Makes a change, for implementations of ``Connection``.
    public init(
        from: ConnectionState, to: ConnectionState, reason: Reason, attempt: Int,
        time: ContinuousClock.Instant, nextAttempt: ContinuousClock.Instant? = nil, continuity: Continuity? = nil
    ) {
        self.from = from
        self.to = to
        self.reason = reason
        self.attempt = attempt
        self.time = time
        self.nextAttempt = nextAttempt
        self.continuity = continuity
    }

    /// The reason for a change of state.
    public enum Reason: Sendable {
        /// The app disconnected it.
        case requested
        /// The server has accepted us.
        case established(LinkInfo)
        /// The link was lost or an attempt failed, and another attempt follows.
        case lost(LinkspanError)
        /// The link was lost or an attempt failed, and no attempt follows.
        case failed(LinkspanError)
        /// Nobody holds the connection any more.
        case unoccupied

        /// The error underneath, when there is one.
        public var error: LinkspanError? {
            switch self {
            case .lost(let error), .failed(let error): error
            case .requested, .established, .unoccupied: nil
            }
        }
    }
}

/// A change of a connection's status.
public enum StatusChange: Sendable {
    /// The state changed.
    case state(StateChange)
    /// The progress inside the state changed; each attempt to connect begins with such a change.
    case progress(ConnectionProgress)
}

/// The activity of a connection inside its state.
public enum ConnectionProgress: Sendable, Hashable {
    /// Nothing is under way.
    case idle
    /// Waiting for the credential provider.
    case obtainingCredentials(attempt: Int)
    /// Opening a link.
    case opening(attempt: Int)
    /// Up.
    case open
    /// Down until the app is in the foreground again.
    case suspended
    /// Waiting before the next attempt.
    case waiting(until: ContinuousClock.Instant, attempt: Int)
}
