/// The pace at which a backlog is sent once the connection is up again.
///
/// A server that comes back has all its clients to deal with at once; a pause between turns keeps each of them from
/// making that worse.
public struct FlushPacing: Sendable, Hashable {
    /// The most commands of one turn.
    ///
    /// Default 256.
    public var commands = 256
    /// The bytes after which a turn ends.
    ///
    /// Default 1 MiB.
    public var bytes = 1 << 20
    /// The time between two turns.
    ///
    /// Default 10 ms.
    public var pause = Duration.milliseconds(10)
}
