internal import Linkspan

/// The faults that are switched on; they stay on when the server restarts.
struct ServerFaults: Sendable {
    /// Whether the server neither reads nor writes, like one that hangs.
    var isStalled = false
    /// The reason why no client is admitted; nil when the hub decides.
    var refusal: LinkspanError?
    /// The delay before received bytes are processed.
    var delay = Duration.zero
}
