/// Decides when a connection pauses decompression, so that other connections on its loop are served.
///
/// Decompressed bytes count even when the message is incomplete, because the server decides where its messages are split.
struct InflationBudget {
    /// The decompressed bytes after which the rest of the input waits for the next turn.
    private static let bytesPerTurn = 1 << 20
    /// The pause for each such amount, so that decompression takes a fifth of a core at most.
    private static let pause = Duration.milliseconds(5)

    /// The decompressed bytes that have been paused for.
    private var paidBytes = 0

    /// The time after which bytes that were read are decompressed in a later turn; nil when none wait.
    var pause: Duration?

    /// Begins the pause that is due when `inflatedBytes` have been decompressed in total; returns whether one is.
    mutating func pauses(after inflatedBytes: Int) -> Bool {
        let turns = (inflatedBytes - self.paidBytes) / Self.bytesPerTurn
        guard turns > 0 else { return false }
        self.paidBytes += turns * Self.bytesPerTurn
        self.pause = Self.pause * turns
        return true
    }
}
