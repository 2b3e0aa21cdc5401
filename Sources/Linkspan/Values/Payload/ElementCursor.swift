/// Walks over the comma-separated values of a well-formed text.
enum ElementCursor {
    /// The range of the value at `position` without the space around it, and the start of the next one.
    // Worth a hundredth where an argument is read (W13).
    @inline(__always)
    static func element(
        of text: UnsafeBufferPointer<UInt8>, from position: Int
    ) -> (start: Int, end: Int, next: Int)? {
        var scanner = JSONScanner(maximumValues: .max)
        let start = JSONScanner.skipSpace(text, from: position)
        guard start < text.count, let end = try? scanner.skipValue(text, from: start) else { return nil }
        var next = JSONScanner.skipSpace(text, from: end)
        if next < text.count, text[next] == UInt8(ascii: ",") { next += 1 }
        return (start, end, next)
    }

    /// The value at `index` without the space around it, or nil when there are fewer.
    static func element(_ index: Int, of elements: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard index >= 0 else { return nil }
        let range: Range<Int>? = elements.withUnsafeBufferPointer { text in
            var position = 0
            for _ in 0..<index {
                guard let element = Self.element(of: text, from: position) else { return nil }
                position = element.next
            }
            return Self.element(of: text, from: position).map { $0.start..<$0.end }
        }
        guard let range else { return nil }
        let base = elements.startIndex
        return elements[base &+ range.lowerBound..<base &+ range.upperBound]
    }

    /// All values, up to the end or to where the text is not well-formed.
    static func elements(of elements: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
        let base = elements.startIndex
        return elements.withUnsafeBufferPointer { text in
            var values: [ArraySlice<UInt8>] = []
            var position = 0
            while let element = Self.element(of: text, from: position) {
                values.append(elements[base + element.start..<base + element.end])
                position = element.next
            }
            return values
        }
    }
}
