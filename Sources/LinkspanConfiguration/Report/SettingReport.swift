/// Everything about one key, for a person or a program.
struct SettingReport: Encodable {
    /// A value that lost to another.
    struct Hidden: Encodable {
        var value: String
        var origin: String
    }

    var key: String
    var value: String?
    var origin: String
    var hides: [Hidden]
    var takes: String
    var fallback: String?
    var reload: String
    var variable: String?
    var summary: String

    init(_ setting: Setting, _ reference: [KeyReference]) {
        self.key = setting.path
        self.value = setting.value
        self.origin = setting.origin
        self.hides = setting.hidden.map { Hidden(value: $0.value, origin: $0.origin) }
        self.takes = setting.expectation
        self.fallback = setting.fallback
        self.reload = setting.reload
        self.variable = reference.first { $0.path == setting.path }?.variable
        self.summary = setting.summary
    }

    var lines: [String] {
        var lines = ["\(self.key) = \(self.value ?? "(none)")", "  \(self.summary)", "  from: \(self.origin)"]
        lines += self.hides.map { "  hides: \($0.value) from \($0.origin)" }
        lines.append("  takes: \(self.takes)")
        lines.append("  default: \(self.fallback ?? "none, it must be given")")
        lines.append("  a change while running: \(self.reload)")
        if let variable { lines.append("  variable: \(variable)") }
        return lines
    }
}

/// The problems of a configuration, for a program.
struct ProblemReport: Encodable {
    struct Problem: Encodable {
        var code: String
        var path: String
        var message: String
        var origin: String?
        var hides: String?
    }

    var problems: [Problem]

    init(_ problems: [ConfigurationProblem]) {
        self.problems = problems.map { problem in
            Problem(
                code: problem.code.rawValue, path: problem.path, message: problem.message, origin: problem.origin,
                hides: problem.hides)
        }
    }
}
