extension Substring {
    /// The text without the white space that may stand around a value in HTTP (RFC 9110 §5.6.3).
    package var trimmed: Substring {
        var text = self.drop { $0 == " " || $0 == "\t" }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return text
    }
}
