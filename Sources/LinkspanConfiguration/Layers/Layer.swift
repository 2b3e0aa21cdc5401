/// A value as given, before its key's type is known.
enum RawValue: Sendable, Hashable {
    /// A single value; empty is the same as not given, except for lists.
    case text(String)
    /// A list.
    case list([String])
    /// Keys and values.
    case map([String: String])

    /// The value with each text replaced; keys stay.
    func replacingTexts(_ replace: (String) -> String) -> Self {
        switch self {
        case .text(let text): .text(replace(text))
        case .list(let items): .list(items.map(replace))
        case .map(let entries): .map(entries.mapValues(replace))
        }
    }

    /// The value as shown to a person.
    var text: String {
        switch self {
        case .text(let text): text
        case .list(let items): "[\(items.joined(separator: ", "))]"
        case .map(let entries):
            "{\(entries.sorted { $0.key < $1.key }.map { "\($0): \($1)" }.joined(separator: ", "))}"
        }
    }
}

/// The values of one source.
struct Layer: Sendable {
    /// A value with its origin.
    struct Entry: Sendable {
        var value: RawValue
        var origin: String
    }

    /// Sources in which others can read a secret.
    struct Exposure: Sendable {
        let code: ConfigurationProblem.Code
        /// What a secret in the source does there.
        let place: String

        static let file = Self(code: .secretInFile, place: "stand in a file")
        static let arguments = Self(
            code: .secretInArguments, place: "stand on a command line, which other users can read")
    }

    /// The readers that a secret here would be exposed to.
    var exposure: Exposure?
    /// Whether values are missing because the source could not be read.
    var isBroken = false
    /// The values by key, without the root.
    var entries: [String: Entry] = [:]
    /// The problems of the source, apart from the values.
    var problems: [ConfigurationProblem] = []

    /// Text sources give lists with commas.
    static func split(_ text: String) -> RawValue {
        .list(text.split(separator: ",").map { Self.trim($0) }.filter { !$0.isEmpty })
    }

    /// Text sources give maps as `key=value` with commas; nil when it is something else.
    static func splitMap(_ text: String) -> RawValue? {
        var entries: [String: String] = [:]
        for part in text.split(separator: ",") {
            let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard sides.count == 2 else { return nil }
            entries[Self.trim(sides[0])] = Self.trim(sides[1])
        }
        return .map(entries)
    }

    private static func trim(_ text: Substring) -> String {
        var text = text
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}
