/// What a piece of text is for; ``Style`` knows how that looks.
public enum Role: Hashable, Sendable {
    case plain
    /// Somebody's name; the number tells people apart.
    case person(Int)
    /// Our own name.
    case own
    /// About the chat, not said in it.
    case news
    /// Said, and not confirmed yet.
    case pending
    case failure
    /// In the space between the conversation and the input.
    case hint
    case rule
    case good
    case warning
    case bad
    case prompt
    /// The time of a line.
    case time
    case link
    /// The user's name in lines of others.
    case mention
    /// What is searched for.
    case match
}

/// A piece of text with one look.
public struct Span: Hashable, Sendable {
    /// The characters.
    public var text: String
    /// Their meaning.
    public var role: Role

    /// Makes a span.
    public init(_ text: String, _ role: Role = .plain) {
        self.text = text
        self.role = role
    }
}

extension [Span] {
    /// The text alone.
    public var text: String { self.map(\.text).joined() }

    /// The columns it takes.
    public var columns: Int { self.reduce(0) { $0 + DisplayWidth.columns(of: $1.text) } }

    /// The text truncated to a width, with an ellipsis if it was cut.
    public func fitted(to width: Int) -> [Span] {
        guard self.columns > width else { return self }
        var (fitted, left): ([Span], Int) = ([], width - 1)
        for span in self where left >= 0 {
            let head = span.text.prefix(columns: left)
            guard head.endIndex == span.text.endIndex else { return fitted + [Span("\(head)…", span.role)] }
            fitted.append(span)
            left -= DisplayWidth.columns(of: head)
        }
        return fitted
    }
}

/// How things look: in colours, or without any attributes.
public struct Style: Sendable {
    /// Whether colours and other attributes may be used.
    public var hasColours: Bool

    /// What the environment asks for; see https://no-color.org.
    public init(environment: [String: String]) { self.hasColours = (environment["NO_COLOR"] ?? "").isEmpty }

    /// A style with or without attributes.
    public init(hasColours: Bool) { self.hasColours = hasColours }

    /// The text with the sequences that make it look as it should; the attributes are off at its end.
    public func paint(_ spans: [Span]) -> String {
        guard self.hasColours else { return spans.text }
        return spans.reduce(into: "") { painted, span in
            guard !span.text.isEmpty else { return }
            let code = Self.code(span.role)
            painted += code.isEmpty ? span.text : "\u{1B}[\(code)m\(span.text)\u{1B}[m"
        }
    }

    /// The number of a person's colour, the same whenever they come.
    public static func number(of name: String) -> Int {
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
