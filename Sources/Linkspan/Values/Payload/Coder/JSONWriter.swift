/// The text of one value while it is encoded.
///
/// Values are written straight to the text as they come: a value that is encoded inside another one ends before the outer one
/// goes on. What a type may fill in any order, nested containers and super-encoders, has a writer of its own, and is put in
/// place of a digit when everything is there.
final class JSONWriter {
    // Unchecked where every member is written: none of the accesses calls out, and checking them cost a quarter of W3.
    @exclusivity(unchecked) var text: [UInt8]
    @exclusivity(unchecked) var attachments: [ArraySlice<UInt8>]
    let rules: CodingRules
    /// The writer into which this one is put.
    let outer: JSONWriter?
    /// The path to the value of this writer.
    private let base: [any CodingKey]
    let baseDepth: Int
    /// The keys of the values that are being encoded, from the outermost on: one for each open level but the last.
    @exclusivity(unchecked) var path: [any CodingKey] = []
    /// The arrays and objects that are open.
    @exclusivity(unchecked) var levels: [Level] = []
    /// The parts that stand in the text as a digit, in its order.
    @exclusivity(unchecked) private var inserts: [Insert] = []
    /// Whether what was written is a list of arguments, which may be empty.
    var isArgumentList = false
    /// The error that a method which cannot throw has found.
    private(set) var failure: EncodingError?
    @exclusivity(unchecked) private(set) var hasFailed = false

    /// The beginning of a value.
    struct Place {
        /// Its start in the text.
        let start: Int
        /// The number of arrays and objects around it.
        let level: Int
    }

    struct Level {
        /// The position of its bracket.
        let start: Int
        let isObject: Bool
        /// The elements or members.
        var count = 0
        var keys = WrittenKeys()
    }

    private struct Insert {
        var offset: Int
        let writer: JSONWriter
    }

    /// A place in everything to go back to.
    struct Mark {
        fileprivate let text: Int
        fileprivate let attachments: Int
        fileprivate let levels: Int
        fileprivate let inserts: Int
    }

    /// Makes a writer that goes on behind a text.
    init(behind text: [UInt8], attachments: [ArraySlice<UInt8>], rules: CodingRules) {
        self.text = text
        self.attachments = attachments
        self.rules = rules
        self.outer = nil
        self.base = []
        self.baseDepth = 0
    }

    private init(inside outer: JSONWriter, path: [any CodingKey], depth: Int, text: [UInt8] = []) {
        self.text = text
        self.attachments = []
        self.rules = outer.rules
        self.outer = outer
        self.base = path
        self.baseDepth = depth
    }

    /// Encodes a value and hands out text and attachments.
    func encode<Value: Encodable>(_ value: Value) throws -> (text: [UInt8], attachments: [ArraySlice<UInt8>]) {
        // They refer to this writer, too.
        defer { self.removeInserts() }
        let start = self.text.count
        try self.write(value)
        guard self.text.count > start || self.isArgumentList else {
            throw EncodingError.invalidValue(
                value, .init(codingPath: [], debugDescription: "Top-level \(Value.self) did not encode any values."))
        }
        let text = try self.finish()
        return (text, self.attachments)
    }

    private func removeInserts() {
        for insert in self.inserts { insert.writer.removeInserts() }
        self.inserts = []
    }

    /// The text with everything in place.
    private func finish() throws -> [UInt8] {
        if self.hasFailed, let failure = self.failure { throw failure }
        while !self.levels.isEmpty { self.close() }
        if self.text.isEmpty { return self.isArgumentList ? [] : Array("{}".utf8) }
        guard !self.inserts.isEmpty else { return self.text }
        var whole: [UInt8] = []
        var end = 0
        for insert in self.inserts {
            whole.append(contentsOf: self.text[end..<insert.offset])
            whole.append(contentsOf: try insert.writer.finish())
            end = insert.offset + 1
        }
        whole.append(contentsOf: self.text[end...])
        return whole
    }

    func codingPath(_ level: Int) -> [any CodingKey] { self.base + self.path.prefix(level) }
}

// MARK: - Levels

extension JSONWriter {
    /// Opens the array or object of a value, or goes on with it.
    func open(isObject: Bool, at place: Place) {
        let (start, level) = (place.start, place.level)
        if self.levels.count == level + 1, self.levels[level].start == start, self.levels[level].isObject == isObject {
            return
        }
        guard self.levels.count == level, self.baseDepth + level < JSONScanner.maximumDepth else {
            let isDeep = self.baseDepth + level >= JSONScanner.maximumDepth
            return self.fail(isDeep ? "more than \(JSONScanner.maximumDepth) levels" : Self.disorder, level)
        }
        if self.text.count == start {
            self.text.append(UInt8(ascii: isObject ? "{" : "["))
            self.levels.append(Level(start: start, isObject: isObject))
        } else if self.text[start] == UInt8(ascii: isObject ? "{" : "[") {
            self.reopen(isObject: isObject, start: start, level: level)
        } else {
            self.fail(Self.disorder, level)
        }
    }

    /// Goes on with a container that has ended already: a value was encoded as a whole, and its encoder adds to it.
    private func reopen(isObject: Bool, start: Int, level: Int) {
        // Text of the app's own may end with space.
        guard self.text.last == UInt8(ascii: isObject ? "}" : "]") else { return self.fail(Self.disorder, level) }
        self.text.removeLast()
        let members = JSONMembers(self.text[...], from: start)
        var opened = Level(start: start, isObject: isObject)
        opened.count = members.values.count
        if isObject { opened.keys = WrittenKeys(members.keys) }
        self.levels.append(opened)
    }

    func close() {
        guard let level = self.levels.popLast() else { return }
        self.text.append(UInt8(ascii: level.isObject ? "}" : "]"))
    }

    private static var disorder: String { "a container was used out of order" }

    private func fail(_ what: String, _ level: Int) {
        guard self.failure == nil else { return }
        self.hasFailed = true
        self.failure = .invalidValue(what, .init(codingPath: self.codingPath(level), debugDescription: what))
    }

    /// Throws unless the container of a place may be written to now.
    func check(_ place: Place) throws {
        if !self.hasFailed, self.levels.count == place.level &+ 1, self.levels[place.level].start == place.start {
            return
        }
        throw self.refusal(place.level)
    }

    @inline(never)
    func refusal(_ level: Int) -> EncodingError {
        self.fail(Self.disorder, level)
        return self.failure.unsafelyUnwrapped
    }
}

// MARK: - Members and elements

extension JSONWriter {
    /// Writes a member; nothing of it stays when that fails.
    @inline(__always)
    func member(_ key: some CodingKey, in place: Place, _ write: () throws -> Void) throws {
        let (level, start) = (place.level, self.text.count)
        let written = self.rules.written(key.stringValue)
        try self.element(in: place) {
            JSONString.append(written, to: &self.text)
            self.text.append(UInt8(ascii: ":"))
            try write()
        }
        if self.levels[level].keys.insert(written) { self.removeRepeated(written, level, before: start) }
        if self.levels[level].count == Self.keptMembers, !self.levels[level].keys.areKept { self.keepKeys(level) }
    }

    /// The members from which on the keys are kept, so that the text is not searched again and again.
    private static let keptMembers = 16

    @inline(never)
    private func keepKeys(_ level: Int) {
        self.levels[level].keys = WrittenKeys(JSONMembers(self.text[...], from: self.levels[level].start).keys)
    }

    /// Writes an element; nothing of it stays when that fails.
    func element(in place: Place, _ write: () throws -> Void) throws {
        try self.check(place)
        let level = place.level
        let mark = self.mark
        self.separate(level)
        do {
            try write()
        } catch {
            self.goBack(to: mark)
            throw error
        }
        self.levels[level].count &+= 1
    }

    func separate(_ level: Int) {
        if self.levels[level].count > 0 { self.text.append(UInt8(ascii: ",")) }
    }

    private var mark: Mark {
        Mark(
            text: self.text.count, attachments: self.attachments.count, levels: self.levels.count,
            inserts: self.inserts.count)
    }

    @inline(never)
    private func goBack(to mark: Mark) {
        self.text.removeSubrange(mark.text...)
        self.attachments.removeSubrange(mark.attachments...)
        self.levels.removeSubrange(mark.levels...)
        self.inserts.removeSubrange(mark.inserts...)
    }

    /// Of a key that was written twice the latter counts, as with Foundation.
    @inline(never)
    private func removeRepeated(_ key: String, _ level: Int, before end: Int) {
        let start = self.levels[level].start
        if !self.levels[level].keys.areKept {
            // The bit may be another key's. The comma stands before the new key, unless it is the first.
            let new = self.text[end] == UInt8(ascii: ",") ? end + 1 : end
            let newEnd = self.text.withUnsafeBufferPointer { (try? JSONScanner.skipString($0, from: new)) ?? new }
            guard JSONMembers.hasKey(new..<newEnd, in: self.text, from: start, before: end) else { return }
        }
        let members = JSONMembers(self.text[..<end], from: start)
        guard let index = members.keys.firstIndex(of: key) else { return }
        // With the comma behind it: another member follows.
        let from = members.starts[index]
        let to = index + 1 < members.starts.count ? members.starts[index + 1] : end + 1
        self.text.removeSubrange(from..<to)
        self.levels[level].count -= 1
        self.inserts = self.inserts.compactMap { insert in
            guard !(from..<to).contains(insert.offset) else { return nil }
            return Insert(
                offset: insert.offset >= to ? insert.offset - (to - from) : insert.offset, writer: insert.writer)
        }
    }

    /// A writer for a nested container or super-encoder under a key, which may be filled later.
    ///
    /// A second one for the same key goes on with the first.
    func nested(_ key: some CodingKey, in place: Place) -> JSONWriter {
        let path = self.codingPath(place.level) + [key]
        var writer = JSONWriter(inside: self, path: path, depth: self.baseDepth + place.level + 1)
        do {
            try self.check(place)
            let written = self.rules.written(key.stringValue)
            if let earlier = self.earlier(written, level: place.level, path: path) {
                writer = earlier
            } else {
                try self.member(key, in: place) { self.insert(writer) }
            }
        } catch {
            // Remembered already, and thrown as soon as something can be thrown.
        }
        return writer
    }

    /// The same for an element.
    func nested(in place: Place) -> JSONWriter {
        let path = self.codingPath(place.level) + [PayloadKey.index(self.count(in: place))]
        let writer = JSONWriter(inside: self, path: path, depth: self.baseDepth + place.level + 1)
        try? self.element(in: place) { self.insert(writer) }
        return writer
    }

    /// Leaves room for a value that is filled later.
    private func insert(_ writer: JSONWriter) {
        self.inserts.append(Insert(offset: self.text.count, writer: writer))
        self.text.append(UInt8(ascii: "0"))
    }

    func count(in place: Place) -> Int {
        place.level < self.levels.count ? self.levels[place.level].count : 0
    }

    /// A member that is there already, to be gone on with: as it was inserted, or taken out of the text for that.
    private func earlier(_ key: String, level: Int, path: [any CodingKey]) -> JSONWriter? {
        guard self.levels[level].keys.mayHold(key) else { return nil }
        let members = JSONMembers(self.text[...], from: self.levels[level].start)
        guard let index = members.keys.firstIndex(of: key) else { return nil }
        let value = members.values[index]
        if let insert = self.inserts.first(where: { $0.offset == value.lowerBound }) { return insert.writer }
        guard !self.inserts.contains(where: { value.contains($0.offset) }) else { return nil }
        let writer = JSONWriter(
            inside: self, path: path, depth: self.baseDepth + level + 1, text: Array(self.text[value]))
        self.text.replaceSubrange(value, with: CollectionOfOne(UInt8(ascii: "0")))
        for index in self.inserts.indices where self.inserts[index].offset > value.lowerBound {
            self.inserts[index].offset -= value.count - 1
        }
        let position = self.inserts.firstIndex { $0.offset > value.lowerBound } ?? self.inserts.endIndex
        self.inserts.insert(Insert(offset: value.lowerBound, writer: writer), at: position)
        return writer
    }
}
