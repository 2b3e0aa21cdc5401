internal import Linkspan

/// Reads those options of a configuration file that are more than a number or a word.
enum WebSocketOptions {
    /// The protocols that there are in any case, by their names.
    static let protocols: [String: any MessageProtocol] = [
        "json": JSONMessageProtocol(), "text": TextMessageProtocol(), "binary": BinaryMessageProtocol(),
    ]

    /// Fields written `name: value`.
    static func headers(_ lines: [String]) throws(LinkspanError) -> [Credentials.Field] {
        try lines.map { line throws(LinkspanError) in
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty else {
                // Without the line: a value may be a secret that is in the wrong place.
                throw LinkspanError(.invalidConfiguration, "a header is not written as `name: value`")
            }
            return .init(String(parts[0]), Secret(String(parts[1].drop { $0 == " " })))
        }
    }

    /// Rules written `code=meaning` or `first-last=meaning`.
    static func closeMeanings(_ rules: [String]) throws(LinkspanError) -> CloseMeanings {
        var meanings: CloseMeanings = [:]
        for rule in rules {
            let parts = rule.split(separator: "=", omittingEmptySubsequences: false)
            guard parts.count == 2, let codes = Self.codes(parts[0]), let meaning = Self.meaning(parts[1]) else {
                throw LinkspanError(
                    .invalidConfiguration, "the rule for close codes '\(rule)' is not one such as `4000-4099=stop`")
            }
            meanings.set(meaning, for: codes)
        }
        return meanings
    }

    private static func codes(_ text: Substring) -> ClosedRange<UInt16>? {
        let ends = text.split(separator: "-", omittingEmptySubsequences: false).map { UInt16($0) }
        guard (1...2).contains(ends.count), let first = ends[0], let last = ends[ends.count - 1], first <= last else {
            return nil
        }
        return first...last
    }

    private static func meaning(_ text: Substring) -> CloseMeaning? {
        switch text {
        case "retry": .retry
        case "later": .retryLater
        case "stop": .stop
        case "refused": .refused
        case "credentials": .credentialsRefused
        default: nil
        }
    }
}
