/// The arguments of an event or a reply: JSON values that stay text until someone asks for them, and binary blobs.
///
/// The text is the inside of a JSON array: `"hello",{"n":1}`. A blob stands in the text as
/// `{"_placeholder":true,"num":i}`, where `i` is its index in ``attachments``; this is the form of Socket.IO v5, so
/// that payloads cross that wire without being rewritten.
public struct Payload: Sendable, Hashable {
    /// The arguments as JSON values with commas between, without the brackets of the array; empty for no arguments.
    public let elements: ArraySlice<UInt8>
    /// The binary blobs that the arguments refer to, in order.
    public let attachments: [ArraySlice<UInt8>]

    /// The known end of the first argument; without it, reading the argument begins with a search for its
    /// end.
    ///
    /// Says nothing that the elements do not say, so that it does not count in comparisons.
    private struct FirstArgument: Sendable, Hashable {
        /// Its bytes, which begin with the elements; nil when they have not been counted.
        var count: Int?

        static func == (lhs: Self, rhs: Self) -> Bool { true }

        func hash(into hasher: inout Hasher) {}
    }

    private let first: FirstArgument

    /// No arguments.
    public static let empty = Self(trustedElements: [], attachments: [])

    /// Whether there are no arguments.
    public var isEmpty: Bool { self.elements.isEmpty }

    /// The bytes of text and blobs together.
    public var byteCount: Int { self.attachments.reduce(self.elements.count) { $0 + $1.count } }

    /// The same arguments in memory of their own; see ``ArraySlice/detached()``.
    package func detached() -> Payload {
        Payload(
            elements: self.elements.detached(), attachments: self.attachments.map { $0.detached() }, first: self.first)
    }

    /// The same arguments, and a string behind them.
    func appending(_ text: String) -> Payload {
        var elements = Array(self.elements)
        if !elements.isEmpty { elements.append(UInt8(ascii: ",")) }
        JSONString.append(text, to: &elements)
        return Payload(trustedElements: elements[...], attachments: self.attachments)
    }

    /// Whether the first argument is an object, and not a blob, without a member of this name.
    func hasRoom(for member: String) -> Bool {
        guard let first = self[0], first.text.first == UInt8(ascii: "{") else { return false }
        return first[member] == nil && first["_placeholder"] == nil
    }

    /// The same arguments with a string as a further member of the first, which has room for it.
    func adding(_ text: String, as member: String) -> Payload {
        var payload = self
        if self.hasRoom(for: member) { try? payload.setField(member, to: text) }
        return payload
    }

    /// The arguments, each still undecoded.
    ///
    /// The cost is one pass over the text.
    public var values: [PayloadValue] {
        ElementCursor.elements(of: self.elements).map { PayloadValue(text: $0, attachments: self.attachments) }
    }

    /// The argument at `index`, still undecoded, or nil when there are fewer.
    public subscript(index: Int) -> PayloadValue? {
        if index == 0, let count = self.first.count {
            return PayloadValue(text: self.elements.prefix(count), attachments: self.attachments)
        }
        return ElementCursor.element(index, of: self.elements).map {
            PayloadValue(text: $0, attachments: self.attachments)
        }
    }

    fileprivate static func check(_ elements: ArraySlice<UInt8>) throws(JSONScanError) {
        try elements.withUnsafeBufferPointer { text throws(JSONScanError) in
            var scanner = JSONScanner()
            var position = JSONScanner.skipSpace(text, from: 0)
            guard position < text.count else { return }
            while true {
                position = JSONScanner.skipSpace(text, from: try scanner.skipValue(text, from: position))
                guard position < text.count else { return }
                guard text[position] == UInt8(ascii: ",") else { throw JSONScanError(.unexpectedByte, at: position) }
                position = JSONScanner.skipSpace(text, from: position + 1)
            }
        }
    }
}

// They delegate to the memberwise initialiser, which builds the value in place.
extension Payload {
    /// Wraps text that is known to be well-formed, because a codec has checked it or the SDK has written it.
    ///
    /// - Parameters:
    ///   - trustedElements: JSON values with commas between.
    ///   - attachments: the blobs that placeholders in the text refer to.
    public init(trustedElements: ArraySlice<UInt8>, attachments: [ArraySlice<UInt8>] = []) {
        self.init(elements: trustedElements, attachments: attachments, first: FirstArgument())
    }

    /// The same for those who may know how many bytes the first argument has.
    ///
    /// The elements begin with it, and not with white space.
    package init(trustedElements: ArraySlice<UInt8>, attachments: [ArraySlice<UInt8>] = [], firstCount: Int?) {
        self.init(elements: trustedElements, attachments: attachments, first: FirstArgument(count: firstCount))
    }

    /// Checks text from outside and wraps it.
    ///
    /// - Parameters:
    ///   - elements: JSON values with commas between.
    ///   - attachments: the blobs that placeholders in the text refer to.
    /// - Throws: ``LinkspanError`` with code `decodingFailed` when the text is not well-formed, too deep or has too
    ///   many values.
    public init(checking elements: ArraySlice<UInt8>, attachments: [ArraySlice<UInt8>] = []) throws(LinkspanError) {
        do throws(JSONScanError) {
            try self.init(scanning: elements, attachments: attachments)
        } catch {
            throw LinkspanError(.decodingFailed, "\(error)", cause: error)
        }
    }

    /// The same, with the error that transports make one of their own of.
    package init(scanning elements: ArraySlice<UInt8>, attachments: [ArraySlice<UInt8>] = []) throws(JSONScanError) {
        try Self.check(elements)
        self.init(trustedElements: elements, attachments: attachments)
    }
}

extension ArraySlice<UInt8> {
    /// The same bytes in memory of their own, for what outlives the call that it came with.
    ///
    /// What a link received is a slice of one read, up to 256 KiB, and keeps all of that alive: a thousand small messages
    /// could keep 250 MiB. A slice of at least half as much stays as it is; for larger messages see ``part(_:)``.
    package func detached() -> Self { self.count < 128 << 10 ? Array(self)[...] : self }

    /// A part of a message, in memory of its own when it is less than half of one that is larger than a read.
    ///
    /// Such a message is in memory of its own, up to 16 MiB, and a slice keeps all of it: what is held counts by its own
    /// bytes, and would keep alive many times as much.
    @inlinable
    package func part(_ range: Range<Int>) -> Self {
        guard self.count > 256 << 10, range.count < self.count / 2 else { return self[range] }
        return Array(self[range])[...]
    }
}

extension Payload: Redacted {
    /// Only the sizes: payloads do not belong in logs.
    public var description: String {
        "\(self.elements.count) bytes of JSON, \(self.attachments.count) attachments"
    }
}
