/// One element of a Sec-WebSocket-Extensions header (RFC 6455 section 9.1).
struct WebSocketExtension: Sendable, Hashable {
    /// A parameter and its value, if it has one.
    struct Parameter: Sendable, Hashable {
        var name: String
        var value: String?
    }

    let name: String
    let parameters: [Parameter]

    /// Reads the elements of all fields of the header.
    ///
    /// - Throws: `extensionMalformed` if they have another form.
    static func parse(_ fields: [String]) throws(WebSocketProtocolError) -> [Self] {
        // Values are tokens, also in quotes: none of the marks between elements and parameters is inside one.
        try HandshakeRules.list(fields).map { element throws(WebSocketProtocolError) in
            let parts = element.split(separator: ";", omittingEmptySubsequences: false)
            let parameters = try parts.dropFirst().map { part throws(WebSocketProtocolError) in try Self.parameter(part)
            }
            return Self(name: try Self.token(parts[0]), parameters: parameters)
        }
    }

    private static func parameter(_ text: Substring) throws(WebSocketProtocolError) -> Parameter {
        let sides = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        return Parameter(name: try Self.token(sides[0]), value: sides.count == 2 ? try Self.value(sides[1]) : nil)
    }

    /// A token, or a token in quotes.
    private static func value(_ text: Substring) throws(WebSocketProtocolError) -> String {
        var rest = text.trimmed
        guard rest.popFirst() == "\"" else { return try Self.token(text) }
        guard rest.popLast() == "\"" else { throw .extensionMalformed }
        var value = ""
        while let character = rest.popFirst() {
            // A character behind a backslash stands for itself.
            guard let meant = character == "\\" ? rest.popFirst() : character else { throw .extensionMalformed }
            value.append(meant)
        }
        return try Self.token(value[...])
    }

    private static func token(_ text: Substring) throws(WebSocketProtocolError) -> String {
        let token = text.trimmed
        guard HTTPToken.isValid(token.utf8) else { throw .extensionMalformed }
        return String(token)
    }
}

extension WebSocketProtocolError {
    fileprivate static var extensionMalformed: Self {
        Self(.extensionMalformed, "the Sec-WebSocket-Extensions header is not a list of extensions")
    }
}
