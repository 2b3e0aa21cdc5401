/// JSON as it came, in lines with indents; numbers and the order of members stay as they are.
struct PrettyJSON {
    private static let step = 2

    private var output = ""
    private var depth = 0

    /// The text in lines; a short one stays on one line.
    static func lines(_ json: String, width: Int = 72) -> String {
        let compact = Self.render(json, isCompact: true)
        return compact.count <= width ? compact : Self.render(json, isCompact: false)
    }

    /// The text in one line, without blanks that mean nothing.
    static func compact(_ json: String) -> String { Self.render(json, isCompact: true) }

    private static func render(_ json: String, isCompact: Bool) -> String {
        var printer = Self()
        var (isString, isEscaped) = (false, false)
        var previous: Unicode.Scalar = " "
        // By scalars: a quote with a combining mark after it is another character than a quote.
        for scalar in json.unicodeScalars {
            let isSpace = !isString && scalar.properties.isWhitespace
            if isString {
                printer.append(scalar)
                if isEscaped {
                    isEscaped = false
                } else if scalar == "\\" {
                    isEscaped = true
                } else {
                    isString = scalar != "\""
                }
            } else if !isSpace {
                printer.take(scalar, after: previous, isCompact)
                isString = scalar == "\""
            }
            if !isSpace { previous = scalar }
        }
        return printer.output
    }

    private mutating func take(_ scalar: Unicode.Scalar, after previous: Unicode.Scalar, _ isCompact: Bool) {
        switch scalar {
        case "{", "[":
            self.breakAfterOpening(previous, isCompact)
            self.append(scalar)
            self.depth += 1
        case "}", "]":
            self.depth -= 1
            if !isCompact, !Self.opens(previous) { self.breakLine() }
            self.append(scalar)
        case ",":
            self.output.append(",")
            if !isCompact { self.breakLine() }
        case ":": self.output += isCompact ? ":" : ": "
        default:
            self.breakAfterOpening(previous, isCompact)
            self.append(scalar)
        }
    }

    private mutating func breakAfterOpening(_ previous: Unicode.Scalar, _ isCompact: Bool) {
        if !isCompact, Self.opens(previous) { self.breakLine() }
    }

    private static func opens(_ scalar: Unicode.Scalar) -> Bool { scalar == "{" || scalar == "[" }

    private mutating func append(_ scalar: Unicode.Scalar) { self.output.unicodeScalars.append(scalar) }

    private mutating func breakLine() {
        self.output += "\n" + String(repeating: " ", count: self.depth * Self.step)
    }
}
