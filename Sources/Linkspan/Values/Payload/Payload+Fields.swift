extension Payload {
    /// Adds a member to the first argument, or replaces the one with this name: for a header, a trace or a key of a server's
    /// own.
    ///
    /// Without arguments it makes an object of this member alone.
    ///
    /// - Parameters:
    ///   - name: the name of the member.
    ///   - value: its value, without `Data`.
    /// - Throws: ``LinkspanError`` with code `encodingFailed` when the first argument is no object, or the value cannot be
    ///   written.
    public mutating func setField(_ name: String, to value: some Encodable) throws(LinkspanError) {
        let written = try Payload(value)
        guard written.attachments.isEmpty else {
            throw LinkspanError(.encodingFailed, "the field '\(name)' cannot hold Data")
        }
        guard !self.isEmpty else {
            var elements: [UInt8] = []
            Self.append(name, written, to: &elements)
            self = Payload(trustedElements: ([UInt8(ascii: "{")] + elements + [UInt8(ascii: "}")])[...])
            return
        }
        guard let first = self[0], first.text.first == UInt8(ascii: "{"), first.blob == nil else {
            throw LinkspanError(.encodingFailed, "the field '\(name)' has no place: the first argument is no object")
        }
        var elements: [UInt8] = []
        if let former = first[name]?.text {
            elements = Array(self.elements[..<former.startIndex] + written.elements + self.elements[former.endIndex...])
        } else {
            let inside = first.text.index(after: first.text.startIndex)
            elements = Array(self.elements[..<inside])
            Self.append(name, written, to: &elements)
            let rest = self.elements[inside...]
            if rest.first(where: { !JSONScanner.isSpace($0) }) != UInt8(ascii: "}") {
                elements.append(UInt8(ascii: ","))
            }
            elements += rest
        }
        self = Payload(trustedElements: elements[...], attachments: self.attachments)
    }

    private static func append(_ name: String, _ value: Payload, to elements: inout [UInt8]) {
        JSONString.append(name, to: &elements)
        elements.append(UInt8(ascii: ":"))
        elements += value.elements
    }
}
