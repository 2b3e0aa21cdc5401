extension Setting {
    /// Everything about the key, for a person.
    var report: [String] {
        var lines = ["\(self.path) = \(self.value ?? "(none)")", "  \(self.summary)", "  from: \(self.origin)"]
        lines += self.hidden.map { "  hides: \($0.value) from \($0.origin)" }
        lines.append("  takes: \(self.expectation)")
        lines.append("  default: \(self.fallback ?? "none, it must be given")")
        lines.append("  a change while running: \(self.reload)")
        lines.append("  variable: \(self.variable)")
        return lines
    }
}
