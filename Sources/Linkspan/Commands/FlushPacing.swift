/// How fast what has waited leaves once the connection is up again.
///
/// A server that comes back has all its clients to deal with at once; a pause between turns keeps each of them from
/// making that worse.
public struct FlushPacing: Sendable, Hashable {
    /// The most commands of one turn.
    ///
    /// Default 256.
    public var commands: Int
    /// The bytes after which a turn ends.
    ///
    /// Default 1 MiB.
    public var bytes: Int
    /// The time between two turns.
    ///
    /// Default 10 ms.
    public var pause: Duration

    /// Makes a pace; the defaults are those named at the properties.
    public init(commands: Int = 256, bytes: Int = 1 << 20, pause: Duration = .milliseconds(10)) {
        self.commands = commands
        self.bytes = bytes
        self.pause = pause
    }
}
