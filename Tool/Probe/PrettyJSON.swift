import Linkspan

/// JSON as it came, in lines with indents; numbers and the order of members stay as they are.
enum PrettyJSON {
    /// The text in lines; a short one stays on one line.
    static func lines(_ json: String, width: Int = 72) -> String {
        let compact = Self.compact(json)
        return compact.count <= width ? compact : Self.text(of: json, lineEnd: "\n")
    }

    /// The text in one line, without blanks that mean nothing.
    static func compact(_ json: String) -> String { Self.text(of: json, lineEnd: nil) }

    private static func text(of json: String, lineEnd: String?) -> String {
        // What is no JSON must not pass for another line.
        (try? PayloadValue(json: json)).map { Self.text(of: $0, lineEnd) } ?? ForeignText.line(json, limit: .max)
    }

    /// The text of a value; `lineEnd` is a line feed with the indent of the value, or nil for all in one line.
    private static func text(of value: PayloadValue, _ lineEnd: String?) -> String {
        let inner = lineEnd.map { $0 + "  " }
        let colon = lineEnd == nil ? ":" : ": "
        let (open, close, parts): (String, String, [String])
        if let elements = value.elements {
            (open, close, parts) = ("[", "]", elements.map { Self.text(of: $0, inner) })
        } else if let members = value.members {
            let texts = members.map { Self.text(of: $0.name, nil) + colon + Self.text(of: $0.value, inner) }
            (open, close, parts) = ("{", "}", texts)
        } else {
            return String(decoding: value.text, as: UTF8.self)
        }
        guard let lineEnd, let inner, !parts.isEmpty else { return open + parts.joined(separator: ",") + close }
        return open + inner + parts.joined(separator: ",\(inner)") + lineEnd + close
    }
}
