/// The pauses of a connection whose messages are decompressed, in which others on its loop are served.
///
/// What is made counts whether or not it is the end of a message: a server chooses where its bytes are cut.
struct InflationBudget {
    /// The bytes that are made of compressed messages in one turn; what is behind them waits for the next one.
    private static let bytesPerTurn = 1 << 20
    /// The pause for each so many: decompressing takes a fifth of a core at most.
    private static let pause = Duration.milliseconds(5)

    /// The bytes that pauses were taken for; what is beyond them counts towards the next.
    private var paidBytes = 0

    /// Takes the pause that is due once so many bytes have been made in all; nil when none is.
    mutating func takePause(after inflatedBytes: Int) -> Duration? {
        let turns = (inflatedBytes - self.paidBytes) / Self.bytesPerTurn
        guard turns > 0 else { return nil }
        self.paidBytes += turns * Self.bytesPerTurn
        return Self.pause * turns
    }
}
