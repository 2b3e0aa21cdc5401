extension Duration {
    /// The time in seconds, for a sentence: `30 s`, `0.5 s`.
    var text: String {
        let seconds = self / .seconds(1)
        return "\(Int(exactly: seconds).map { "\($0)" } ?? "\(seconds)") s"
    }
}
