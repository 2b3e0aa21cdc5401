/// What a parser said about a file, brought into one form and one line.
///
/// The libraries tell positions only in their texts, each in its own way. Pieces of the file, which the texts may hold
/// too, are left out: they could be secrets.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
struct ParserMessage {
    /// Where it is, as `:line:column`; empty if unknown.
    private(set) var position = ""
    /// What is wrong there.
    private(set) var message: String

    init(_ text: String, _ file: FileText, _ locator: KeyLocator) {
        self.message = "is not well-formed"
        if self.readYAML(text) || self.readJSON(text, file) { return }
        if text.contains("op level") || text.contains("op-level") {
            self.message = "expected a section '\(ConfigurationPath.root)' at the top, found a list or a value"
        } else if text.contains(" in array at ") || text.hasPrefix("Unsupported primitive value") {
            self.message = "lists may hold only texts or only numbers; \(Self.list(text)) holds something else"
        } else if text.hasPrefix("YAML key is not") {
            self.message = "keys must be texts"
        }
    }

    /// `3:4: error: parser: while parsing …`, with the reason on the next line.
    private mutating func readYAML(_ text: String) -> Bool {
        let lines = text.split(separator: "\n", maxSplits: 2)
        guard let first = lines.first else { return false }
        let parts = first.split(separator: ":", maxSplits: 4, omittingEmptySubsequences: false)
        guard parts.count == 5, let line = Int(parts[0]), let column = Int(parts[1]), parts[2] == " error" else {
            return false
        }
        self.position = ":\(line):\(column)"
        var reason = parts[4].drop { $0 == " " }
        if !reason.hasSuffix(":"), lines.count > 1 { reason += ", \(lines[1])" }
        if reason.hasSuffix(":") { reason.removeLast() }
        self.message = Wording.shown(String(reason), limit: 200)
        return true
    }

    /// `… around character 16.`, or `… around line 3, column 5.`, depending on the platform.
    private mutating func readJSON(_ text: String, _ file: FileText) -> Bool {
        guard text.contains("NSCocoaErrorDomain") || text.contains("NSDebugDescription") else { return false }
        if let offset = Self.number(behind: "around character ", in: text) {
            let place = file.position(of: offset)
            self.position = ":\(place.line):\(place.column)"
        } else if let line = Self.number(behind: "around line ", in: text) {
            self.position = ":\(line)" + (Self.number(behind: "column ", in: text).map { ":\($0)" } ?? "")
        } else if text.contains("end of file") {
            let place = file.position(of: file.bytes.count)
            self.position = ":\(place.line):\(place.column)"
            self.message = "is not well-formed JSON: it ends too early"
            return true
        }
        self.message =
            text.contains("too many nested") || text.contains("Too many nested")
            ? "is nested too deeply" : "is not well-formed JSON"
        return true
    }

    private static func number(behind mark: String, in text: String) -> Int? {
        var rest = text[...]
        while !rest.isEmpty, !rest.hasPrefix(mark) { rest.removeFirst() }
        return Int(rest.dropFirst(mark.count).prefix { $0.isASCII && $0.isNumber })
    }

    /// The list that a text is about, which ends in `at a.b.0` or `at a.b at index: 0`.
    private static func list(_ text: String) -> String {
        let words = text.split(separator: " ")
        guard let at = words.firstIndex(of: "at"), at + 1 < words.count else { return "a list" }
        var names = ConfigurationPath.components(String(words[at + 1]))
        if names.count > 1, names.last.flatMap({ Int($0) }) != nil { names.removeLast() }
        return "'\(Wording.shown(names.joined(separator: ".")))'"
    }
}
