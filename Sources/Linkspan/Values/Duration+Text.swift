extension Double {
    /// The number without a zero fraction.
    package var plain: String { Int(exactly: self).map { "\($0)" } ?? "\(self)" }
}

extension Duration {
    /// The time in seconds, for a sentence: `30 s`, `0.5 s`.
    var text: String { "\((self / .seconds(1)).plain) s" }
}
