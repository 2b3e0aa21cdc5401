/// JSON as it came, in lines with indents; numbers and the order of members stay as they are.
struct PrettyJSON {
    private static let step = 2

    private var output = ""
    private var depth = 0

    /// The text in lines; what is short stays in one.
    static func lines(_ json: String, width: Int = 72) -> String {
        let compact = Self.render(json, isCompact: true)
        return compact.count <= width ? compact : Self.render(json, isCompact: false)
    }

    /// The text in one line, without blanks that mean nothing.
    static func compact(_ json: String) -> String { Self.render(json, isCompact: true) }

    private static func render(_ json: String, isCompact: Bool) -> String {
        var printer = Self()
        var (isString, isEscaped) = (false, false)
        var previous: Character = " "
        for character in json {
            if isString {
                printer.output.append(character)
                if isEscaped {
                    isEscaped = false
                } else if character == "\\" {
                    isEscaped = true
                } else {
                    isString = character != "\""
                }
            } else if !character.isWhitespace {
                printer.take(character, after: previous, isCompact)
                isString = character == "\""
            }
            if !character.isWhitespace || isString { previous = character }
        }
        return printer.output
    }

    private mutating func take(_ character: Character, after previous: Character, _ isCompact: Bool) {
        switch character {
        case "{", "[":
            self.breakAfterOpening(previous, isCompact)
            self.output.append(character)
            self.depth += 1
        case "}", "]":
            self.depth -= 1
            if !isCompact, !"{[".contains(previous) { self.breakLine() }
            self.output.append(character)
        case ",":
            self.output.append(",")
            if !isCompact { self.breakLine() }
        case ":": self.output += isCompact ? ":" : ": "
        default:
            self.breakAfterOpening(previous, isCompact)
            self.output.append(character)
        }
    }

    private mutating func breakAfterOpening(_ previous: Character, _ isCompact: Bool) {
        if !isCompact, "{[".contains(previous) { self.breakLine() }
    }

    private mutating func breakLine() {
        self.output += "\n" + String(repeating: " ", count: self.depth * Self.step)
    }
}
