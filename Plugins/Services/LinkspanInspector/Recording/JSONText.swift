/// Writes JSON into a buffer, member by member.
struct JSONText: Sendable {
    private(set) var bytes: [UInt8] = []
    private var needsComma = false

    /// Writes an object of the members that `body` adds.
    mutating func object(_ name: String? = nil, _ body: (inout Self) -> Void) {
        self.begin(name, UInt8(ascii: "{"))
        body(&self)
        self.end(UInt8(ascii: "}"))
    }

    /// Writes an array of one value for each element.
    mutating func array<Element>(
        _ name: String? = nil, _ elements: some Sequence<Element>, _ body: (inout Self, Element) -> Void
    ) {
        self.begin(name, UInt8(ascii: "["))
        for element in elements { body(&self, element) }
        self.end(UInt8(ascii: "]"))
    }

    /// Writes a member, unless there is no value.
    mutating func text(_ name: String, _ value: String?) {
        guard let value else { return }
        self.separate(name)
        self.append(quoted: value)
    }

    /// Writes a member, unless there is no value.
    mutating func number(_ name: String, _ value: (some BinaryInteger)?) {
        guard let value else { return }
        self.separate(name)
        self.bytes.append(contentsOf: "\(value)".utf8)
    }

    /// Writes an element of an array.
    mutating func element(_ text: String) {
        self.separate(nil)
        self.append(quoted: text)
    }

    /// Writes an element of an array.
    mutating func element(_ number: some BinaryInteger) {
        self.separate(nil)
        self.bytes.append(contentsOf: "\(number)".utf8)
    }

    /// Writes a number with at most two places; null for none and for what JSON has no number for.
    mutating func decimal(_ name: String, _ value: Double?) {
        self.separate(name)
        guard let value, value.isFinite, abs(value) < 1e15 else {
            self.bytes.append(contentsOf: "null".utf8)
            return
        }
        let hundredths = Int64((value * 100).rounded())
        self.bytes.append(
            contentsOf: hundredths % 100 == 0 ? "\(hundredths / 100)".utf8 : "\(Double(hundredths) / 100)".utf8)
    }

    mutating func flag(_ name: String, _ value: Bool) {
        self.separate(name)
        self.bytes.append(contentsOf: value ? "true".utf8 : "false".utf8)
    }

    private mutating func begin(_ name: String?, _ bracket: UInt8) {
        self.separate(name)
        self.bytes.append(bracket)
        self.needsComma = false
    }

    private mutating func end(_ bracket: UInt8) {
        self.bytes.append(bracket)
        self.needsComma = true
    }

    private mutating func separate(_ name: String?) {
        if self.needsComma { self.bytes.append(UInt8(ascii: ",")) }
        self.needsComma = true
        guard let name else { return }
        self.append(quoted: name)
        self.bytes.append(UInt8(ascii: ":"))
    }

    private mutating func append(quoted text: String) {
        self.bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): self.bytes += [UInt8(ascii: "\\"), byte]
            case 0..<0x20, 0x7F:
                let digits = Array("0123456789abcdef".utf8)
                self.bytes += Array(#"\u00"#.utf8) + [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            default: self.bytes.append(byte)
            }
        }
        self.bytes.append(UInt8(ascii: "\""))
    }
}
