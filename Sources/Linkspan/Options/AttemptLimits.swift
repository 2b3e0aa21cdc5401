/// Limits for the attempts that all connections of a manager make by themselves.
///
/// They keep a process with many connections from storming its servers, whatever the retry policies say. What the app
/// asks for by `connect()` is never held up, but counts.
package struct AttemptLimits: Sendable, Hashable {
    /// Attempts in a second, over all connections, in the long run; at least 1.
    ///
    /// Default 5.
    package var perSecond = 5
    /// Attempts that may be made at once after a quiet time; at least 1.
    ///
    /// Default 10.
    package var burst = 10
    /// Whether both follow the pool: at least a quarter of its connections in a second, and, where that is more than the
    /// burst, a thirtieth of them at once instead.
    ///
    /// Default true: to a server, a process with a thousand connections is a thousand clients, and they are all back
    /// within five seconds of its return, when it was away for a minute at most; then the pauses grow to 30 seconds.
    package var growsWithPool = true
    /// The shortest time between the beginnings of two attempts of one connection.
    ///
    /// Default 1 s. The one attempt with renewed credentials may come sooner.
    package var spacing = Duration.seconds(1)
}
