/// Finds the lines of keys in YAML and JSON, for messages.
///
/// It understands the layouts that people write, not all of YAML; a key that it does not find has no line in messages.
struct KeyLocator {
    /// The line of each key, from 1, by its dotted path with the root.
    private(set) var lines: [String: Int] = [:]
    /// Keys that stand twice in one section, with both lines.
    private(set) var repeated: [(path: String, first: Int, second: Int)] = []

    private let bytes: [UInt8]
    private var index = 0
    private var line = 1
    /// The sections that are open by indentation.
    private var sections: [(indent: Int, path: String)] = []

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        while self.index < self.bytes.count { self.readLine() }
    }

    private var byte: UInt8? { self.index < self.bytes.count ? self.bytes[self.index] : nil }

    private mutating func advance() {
        if self.byte == 0x0A { self.line += 1 }
        self.index += 1
    }

    private mutating func record(_ path: String) {
        if let first = self.lines[path] {
            self.repeated.append((path, first, self.line))
        } else {
            self.lines[path] = self.line
        }
    }
}

// MARK: - Lines

extension KeyLocator {
    /// Reads a line that is not inside brackets.
    private mutating func readLine() {
        let indent = self.skipSpaces()
        switch self.byte {
        case nil, 0x0A, 0x0D, 0x23, 0x2D:
            // Blank, a comment, an item of a list, or the mark between documents.
            return self.skipLine()
        case 0x7B, 0x5B:
            return self.readFlow(self.sections.last?.path ?? "")
        default:
            ()
        }
        guard let key = self.readKey() else { return self.skipLine() }
        while let last = self.sections.last, last.indent >= indent { self.sections.removeLast() }
        let path = ConfigurationPath.join(self.sections.last?.path ?? "", key)
        self.record(path)
        self.sections.append((indent, path))
        self.readValue(path, indent)
    }

    private mutating func readValue(_ path: String, _ indent: Int) {
        self.skipSpaces()
        switch self.byte {
        case 0x7B, 0x5B:
            self.readFlow(path)
        case 0x22, 0x27:
            _ = self.readQuoted()
            self.skipLine()
        case 0x7C, 0x3E:
            self.skipLine()
            self.skipBlock(deeperThan: indent)
        default:
            self.skipLine()
        }
    }

    /// A key with its colon; nil if the line has none.
    private mutating func readKey() -> String? {
        var key: String?
        if self.byte == 0x22 || self.byte == 0x27 {
            key = self.readQuoted()
            self.skipSpaces()
        } else {
            let start = self.index
            while let byte = self.byte, byte != 0x0A, !self.isColon { self.advance() }
            key = String(decoding: self.bytes[start..<self.index], as: UTF8.self)
            while key?.last == " " { key?.removeLast() }
        }
        guard self.isColon else { return nil }
        self.advance()
        return key
    }

    /// Whether there is a colon that ends a key here.
    private var isColon: Bool {
        guard self.byte == 0x3A else { return false }
        guard self.index + 1 < self.bytes.count else { return true }
        return [0x20, 0x09, 0x0A, 0x0D].contains(self.bytes[self.index + 1])
    }

    private mutating func skipLine() {
        while let byte = self.byte, byte != 0x0A { self.advance() }
        self.advance()
    }

    /// Skips the lines of a block of text.
    private mutating func skipBlock(deeperThan indent: Int) {
        while self.byte != nil {
            let start = self.index
            let own = self.skipSpaces()
            let isBlank = self.byte == 0x0A || self.byte == 0x0D
            guard isBlank || own > indent else {
                self.index = start
                return
            }
            self.skipLine()
        }
    }

    @discardableResult
    private mutating func skipSpaces() -> Int {
        let start = self.index
        while self.byte == 0x20 || self.byte == 0x09 { self.advance() }
        return self.index - start
    }

    /// Reads a quoted text, over lines if need be.
    ///
    /// Escapes stay as they are: no key of ours has any.
    private mutating func readQuoted() -> String {
        let mark = self.byte
        self.advance()
        let start = self.index
        while let byte = self.byte, byte != mark {
            if byte == 0x5C, mark == 0x22 { self.advance() }
            if self.byte != nil { self.advance() }
        }
        let text = String(decoding: self.bytes[start..<min(self.index, self.bytes.count)], as: UTF8.self)
        if self.byte != nil { self.advance() }
        return text
    }
}

// MARK: - Brackets

extension KeyLocator {
    /// Reads from an opening bracket to its closing one.
    private mutating func readFlow(_ path: String) {
        /// What is open: a section with its path, or a list, whose inside has no keys for us.
        var open: [String?] = []
        var next: String? = path
        while let byte = self.byte {
            switch byte {
            case 0x7B:
                open.append(next)
                next = nil
                self.advance()
            case 0x5B:
                open.append(nil)
                next = nil
                self.advance()
            case 0x7D, 0x5D:
                if !open.isEmpty { open.removeLast() }
                self.advance()
                guard !open.isEmpty else { return }
            case 0x23:
                self.skipLine()
            case 0x20, 0x09, 0x0A, 0x0D, 0x2C, 0x3A:
                self.advance()
            default:
                let line = self.line
                let word = self.readWord()
                guard self.byte == 0x3A, let section = open.last ?? nil else { continue }
                let key = ConfigurationPath.join(section, word)
                let here = self.line
                self.line = line
                self.record(key)
                self.line = here
                next = key
            }
        }
    }

    /// Reads a text inside brackets, up to the mark behind it.
    private mutating func readWord() -> String {
        var word: String
        if self.byte == 0x22 || self.byte == 0x27 {
            word = self.readQuoted()
        } else {
            let start = self.index
            let marks: Set<UInt8> = [0x7B, 0x7D, 0x5B, 0x5D, 0x2C, 0x0A]
            while let byte = self.byte, !marks.contains(byte), !self.isColon { self.advance() }
            // A colon in front of a mark, as in `{a:}`, would stop everything.
            if self.index == start { self.advance() }
            word = String(decoding: self.bytes[start..<min(self.index, self.bytes.count)], as: UTF8.self)
            while word.last == " " { word.removeLast() }
        }
        while self.byte == 0x20 || self.byte == 0x09 || self.byte == 0x0A || self.byte == 0x0D { self.advance() }
        return word
    }
}
