internal import LinkspanRuntime

/// The bytes of a file, up to a limit.
struct FileText: Sendable, Hashable {
    /// The size limit of a file.
    static let limit = 256 << 10

    let bytes: [UInt8]

    init(path: String) throws(RegularFile.Failure) {
        try self.init(bytes: try RegularFile.read(path, limit: Self.limit))
    }

    init(bytes: [UInt8]) throws(RegularFile.Failure) {
        guard !bytes.contains(0), String(decoding: bytes, as: UTF8.self).utf8.elementsEqual(bytes) else {
            throw RegularFile.Failure(reason: "it is not UTF-8 text")
        }
        self.bytes = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
    }

    /// Whether the file has only blank lines, comments and YAML document markers.
    var isEmpty: Bool {
        self.bytes.split { $0 == 0x0A || $0 == 0x0D }.allSatisfy { line in
            let isMarker = line.starts(with: [0x2D, 0x2D, 0x2D])
            let text = line.dropFirst(isMarker ? 3 : 0).drop { $0 == 0x20 || $0 == 0x09 }
            return text.isEmpty || text.first == 0x23
        }
    }

    var text: String { String(decoding: self.bytes, as: UTF8.self) }

    /// The text with JSON's surrogate pairs, such as `\ud83d\ude00`, as YAML's single escape.
    var withoutSurrogates: String {
        self.text.replacing(#/\\(?:u([dD][89abAB]..)\\u([dD][c-fC-F]..)|.)/#) { match in
            guard let high = match.1.flatMap({ UInt32($0, radix: 16) }),
                let low = match.2.flatMap({ UInt32($0, radix: 16) })
            else { return String(match.0) }
            let code = String(0x1_0000 + (high - 0xD800) << 10 + (low - 0xDC00), radix: 16)
            return "\\U" + String(repeating: "0", count: 8 - code.count) + code
        }
    }
}
