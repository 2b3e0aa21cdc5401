/// The pace at which a backlog is sent once the connection is up again.
///
/// A server that comes back has all its clients to deal with at once; a pause between turns keeps each of them from
/// making that worse. The promise to the server is that no turn is larger than ``commands`` and ``bytes``, and that the next
/// one does not begin before the pause is over. The pause becomes shorter for as long as everything leaves: with the
/// defaults a backlog of 100,000 short messages takes about a third of a second. Once the backlog is gone there are no
/// pauses until the next link: what waits then waits for room of the link.
package struct FlushPacing: Sendable, Hashable {
    /// The most commands of one turn.
    ///
    /// Default 256.
    package var commands = 256
    /// The bytes after which a turn ends.
    ///
    /// Default 1 MiB.
    package var bytes = 1 << 20
    /// The first time between two turns, and the longest.
    ///
    /// Default 10 ms. Each turn that the link has passed to the network by the end of its pause halves the next pause, down
    /// to a sixteenth; each that it has not doubles it.
    package var pause = Duration.milliseconds(10)
}
