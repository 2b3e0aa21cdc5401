/// One element of a Sec-WebSocket-Extensions header (RFC 6455 section 9.1).
struct WebSocketExtension: Sendable, Hashable {
    /// A parameter and its value, if it has one.
    struct Parameter: Sendable, Hashable {
        var name: String
        var value: String?
    }

    var name: String
    var parameters: [Parameter] = []

    /// Reads the elements of all fields of the header.
    ///
    /// - Throws: `extensionMalformed` if they have another form.
    static func parse(_ fields: [String]) throws(WebSocketProtocolError) -> [Self] {
        var extensions: [Self] = []
        for field in fields {
            var scanner = ExtensionScanner(field)
            while scanner.skipToElement() {
                extensions.append(try Self(&scanner))
            }
        }
        return extensions
    }

    private init(_ scanner: inout ExtensionScanner) throws(WebSocketProtocolError) {
        self.name = try scanner.token()
        while scanner.accept(UInt8(ascii: ";")) {
            var parameter = Parameter(name: try scanner.token())
            if scanner.accept(UInt8(ascii: "=")) { parameter.value = try scanner.value() }
            self.parameters.append(parameter)
        }
        guard scanner.isAtEndOfElement else { throw .extensionMalformed }
    }
}

/// Reads the words of the header from left to right.
private struct ExtensionScanner {
    private var rest: Substring.UTF8View

    init(_ field: String) { self.rest = field[...].utf8 }

    var isAtEndOfElement: Bool {
        mutating get {
            self.skipSpace()
            return self.rest.first.map { $0 == UInt8(ascii: ",") } ?? true
        }
    }

    /// Goes on to the next element; returns false if there is none.
    mutating func skipToElement() -> Bool {
        repeat { self.skipSpace() } while self.accept(UInt8(ascii: ","))
        return !self.rest.isEmpty
    }

    mutating func accept(_ byte: UInt8) -> Bool {
        self.skipSpace()
        guard self.rest.first == byte else { return false }
        self.rest = self.rest.dropFirst()
        return true
    }

    mutating func token() throws(WebSocketProtocolError) -> String {
        self.skipSpace()
        let token = self.rest.prefix(while: HTTPToken.allows)
        guard !token.isEmpty else { throw .extensionMalformed }
        self.rest = self.rest.dropFirst(token.count)
        return String(decoding: token, as: UTF8.self)
    }

    /// A token, or a token in quotes.
    mutating func value() throws(WebSocketProtocolError) -> String {
        let quote = UInt8(ascii: "\"")
        guard self.accept(quote) else { return try self.token() }
        var value: [UInt8] = []
        while let byte = self.rest.popFirst(), byte != quote {
            // A byte behind a backslash stands for itself.
            guard let meant = byte == UInt8(ascii: "\\") ? self.rest.popFirst() : byte,
                HTTPToken.allows(meant)
            else { throw .extensionMalformed }
            value.append(meant)
            guard !self.rest.isEmpty else { throw .extensionMalformed }
        }
        guard !value.isEmpty else { throw .extensionMalformed }
        return String(decoding: value, as: UTF8.self)
    }

    private mutating func skipSpace() {
        self.rest = self.rest.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    }
}

extension WebSocketProtocolError {
    fileprivate static var extensionMalformed: Self {
        Self(.extensionMalformed, "the Sec-WebSocket-Extensions header is not a list of extensions")
    }
}
