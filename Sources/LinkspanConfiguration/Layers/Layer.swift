/// A value as it was given, before anybody knows what it should be.
enum RawValue: Sendable, Hashable {
    /// A single value; empty is the same as not given, except for lists.
    case text(String)
    /// A list.
    case list([String])

    /// The value for a person.
    var text: String {
        switch self {
        case .text(let text): text
        case .list(let items): "[\(items.joined(separator: ", "))]"
        }
    }
}

/// The values of one source.
struct Layer: Sendable {
    /// A value and where it was given.
    struct Entry: Sendable {
        var value: RawValue
        var origin: String
    }

    /// The places where others would see a secret.
    enum Exposure: Sendable {
        /// People copy and commit files.
        case file
        /// Every user of a machine can read the arguments of its processes.
        case arguments
    }

    /// The others who would see a secret here.
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

    private static func trim(_ text: Substring) -> String {
        var text = text
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}
