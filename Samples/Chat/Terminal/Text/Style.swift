/// How things look: in colours, or without any attributes.
struct Style: Sendable {
    /// Whether colours and other attributes may be used.
    var hasColours: Bool

    /// What the environment asks for; see https://no-color.org.
    init(environment: [String: String]) { self.hasColours = (environment["NO_COLOR"] ?? "").isEmpty }

    init(hasColours: Bool) { self.hasColours = hasColours }

    /// The text with the sequences that make it look as it should; the attributes are off at its end.
    func paint(_ spans: [Span]) -> String {
        guard self.hasColours else { return spans.text }
        return spans.reduce(into: "") { painted, span in
            guard !span.text.isEmpty else { return }
            let code = Self.code(span.role)
            painted += code.isEmpty ? span.text : "\u{1B}[\(code)m\(span.text)\u{1B}[m"
        }
    }

    /// The number of a person's colour, the same whenever they come.
    static func number(of name: String) -> Int {
        name.utf8.reduce(0) { ($0 &* 31 &+ Int($1)) & 0xFFFF } % Self.people.count
    }

    /// Colours that can be read on dark and on light ground.
    private static let people = ["36", "35", "33", "34", "32", "96", "95"]

    private static func code(_ role: Role) -> String {
        switch role {
        case .plain: ""
        case .person(let number): "1;\(Self.people[abs(number % Self.people.count)])"
        case .own: "1"
        case .news, .hint, .rule, .pending, .time: "2"
        case .failure, .bad: "31"
        case .good: "32"
        case .warning: "33"
        case .prompt: "1"
        case .link: "4"
        case .mention: "1;33"
        case .match: "7"
        }
    }
}
