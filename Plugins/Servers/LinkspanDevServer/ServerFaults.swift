internal import Linkspan

/// The faults that are switched on; they stay on when the server restarts.
struct ServerFaults: Sendable {
    /// Whether the server has stopped reading and writing, as if it hung.
    var isStalled = false
    /// The reason why no client is admitted; nil when the hub decides.
    var refusal: LinkspanError?
    /// The delay before received bytes are processed.
    var delay = Duration.zero
}
