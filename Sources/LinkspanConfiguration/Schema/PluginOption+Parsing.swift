internal import LinkspanLifecycle
internal import Linkspan

extension PluginOption {
    /// Parses a value by the option's declared form; nil if it does not match.
    func parse(_ value: RawValue) -> OptionValue? {
        switch (self.kind, value) {
        case (.list, .list(let items)): .list(items)
        case (.map, .map(let entries)): .map(entries)
        case (.list, .text), (_, .list), (.map, .text), (_, .map): nil
        case (.text, .text(let text)): .text(text)
        case (.choice(let choices), .text(let text)): choices.contains(text) ? .text(text) : nil
        case (.number(let range), .text(let text)): Self.number(text, in: range)
        case (.flag, .text(let text)): Self.flag(text)
        case (.seconds(let range), .text(let text)): Self.duration(text, in: range)
        case (.decimal(let range), .text(let text)): Double(text).flatMap { range.contains($0) ? .decimal($0) : nil }
        }
    }

    /// The form of the values, for a message.
    var expectation: String {
        switch self.kind {
        case .text: "text"
        case .choice(let choices): "one of \(choices.joined(separator: ", "))"
        case .number(let range) where range == .min ... .max: "a whole number"
        case .number(let range) where range.upperBound == .max: "a whole number of at least \(range.lowerBound)"
        case .number(let range): "a whole number from \(range.lowerBound) to \(range.upperBound)"
        case .flag: "true or false"
        case .seconds(let range):
            "seconds (a number from \(range.lowerBound.plain) to \(range.upperBound.plain))"
        case .decimal(let range) where range.upperBound == .greatestFiniteMagnitude: "a number"
        case .decimal(let range):
            "a number from \(range.lowerBound.plain) to \(range.upperBound.plain)"
        case .list: "a list"
        case .map: "a map of keys and values"
        }
    }

    /// The reason to reject a value; it quotes no secret.
    func mismatch(_ value: RawValue) -> String {
        let found =
            switch value {
            case .list: "a list"
            case .map: "a map"
            case .text where self.isSecret: "something else"
            case .text(let text): "\"\(Wording.shown(Wording.redacted(text)))\""
            }
        var message = "expected \(self.expectation), found \(found)"
        if !self.isSecret, case .choice(let choices) = self.kind, case .text(let text) = value,
            let guess = Suggestion.closest(to: text, among: choices)
        {
            message += " (did you mean '\(guess)'?)"
        }
        return message
    }

    private static func number(_ text: String, in range: ClosedRange<Int>) -> OptionValue? {
        // JSON does not distinguish 10 from 10.0.
        guard let number = Int(text) ?? Double(text).flatMap({ Int(exactly: $0) }), range.contains(number) else {
            return nil
        }
        return .number(number)
    }

    private static func flag(_ text: String) -> OptionValue? {
        switch text.lowercased() {
        case "true", "yes", "on", "1": .flag(true)
        case "false", "no", "off", "0": .flag(false)
        default: nil
        }
    }

    private static func duration(_ text: String, in range: ClosedRange<Double>) -> OptionValue? {
        // The bound of thirty years keeps the nanoseconds below in 64 bits, whatever range a plug-in declares.
        guard let seconds = Double(text), range.contains(seconds), abs(seconds) < 1e9 else { return nil }
        return .duration(.nanoseconds(Int64((seconds * 1e9).rounded())))
    }
}
