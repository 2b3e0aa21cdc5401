extension Setting {
    /// Everything about the key, for a person.
    var report: [String] {
        var lines = ["\(self.path) = \(self.value ?? "(none)")", "  \(self.summary)", "  from: \(self.origin)"]
        lines += self.hidden.map { "  hides: \($0.value) from \($0.origin)" }
        lines.append("  takes: \(self.expectation)")
        // A value that the app has set is no default of the key, which must be given all the same.
        if let usual = self.fallback ?? (self.value == nil ? "none, it must be given" : nil) {
            lines.append("  default: \(usual)")
        }
        lines.append("  a change while running: \(self.reload)")
        lines.append("  variable: \(self.variable)")
        return lines
    }
}
