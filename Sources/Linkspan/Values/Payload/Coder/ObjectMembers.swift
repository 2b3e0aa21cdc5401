/// Finds members by key; the first counts where a key is repeated.
///
/// Up to 16 members are compared one by one. More are put into a table, as are all when keys are converted, so that each
/// member is converted once.
struct ObjectMembers {
    let document: JSONDocument
    /// The token of the object.
    let object: Int
    private let table: [String: Int]?
    private let isConverted: Bool

    private static let searchedMembers = 16

    init(_ document: JSONDocument, _ object: Int, convertingKeys: Bool = true) throws {
        let token = document.tokens[object]
        guard token.kind == .object else { throw document.mismatch([String: Any].self, at: object) }
        self.document = document
        self.object = object
        self.isConverted = convertingKeys && document.rules.usesSnakeCase
        if !self.isConverted, token.count <= Self.searchedMembers {
            self.table = nil
        } else {
            self.table = Self.table(document, object, convertingKeys: self.isConverted)
        }
    }

    @inline(never)
    private static func table(_ document: JSONDocument, _ object: Int, convertingKeys: Bool) -> [String: Int] {
        var table: [String: Int] = [:]
        table.reserveCapacity(Int(document.tokens[object].count))
        var key = object + 1
        while key < Int(document.tokens[object].next) {
            let written = document.key(at: key)
            let name = convertingKeys ? document.rules.read(written) : written
            if table[name] == nil { table[name] = key + 1 }
            key = Int(document.tokens[key + 1].next)
        }
        return table
    }

    /// The keys in the order of the text, each once.
    var keys: [String] {
        let table = self.table ?? Self.table(self.document, self.object, convertingKeys: self.isConverted)
        return table.sorted { $0.value < $1.value }.map(\.key)
    }

    /// The token of the value with this key.
    @inline(__always)
    func find(_ key: String) -> Int? {
        if let table = self.table { return table[key] }
        var wanted = key
        return wanted.withUTF8 { self.search($0, key) }
    }

    private func search(_ wanted: UnsafeBufferPointer<UInt8>, _ name: String) -> Int? {
        let end = Int(self.document.tokens[self.object].next)
        var key = self.object &+ 1
        while key < end {
            let token = self.document.tokens[key]
            if Int(token.count) == wanted.count &+ 2, token.kind == .string,
                self.document.inside(of: token).isSame(as: wanted)
            {
                return key &+ 1
            }
            // Escapes, and characters that Unicode has in more than one form, are for strings to compare.
            if token.kind == .escapedString || !wanted.isASCII, self.document.key(at: key) == name { return key &+ 1 }
            key = Int(self.document.tokens[key &+ 1].next)
        }
        return nil
    }
}
