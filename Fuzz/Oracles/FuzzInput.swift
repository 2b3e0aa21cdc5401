/// Takes an input apart.
///
/// The forms are chosen so that seeds can be written by hand: lines, or fields with a bar between.
enum FuzzInput {
    /// The lines of a script; the newline belongs to none.
    static func lines(_ input: [UInt8]) -> [ArraySlice<UInt8>] {
        input.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: true)
    }

    /// The fields of a record as text, as many as wanted; missing ones are empty.
    static func fields(_ input: [UInt8], _ count: Int) -> [String] {
        let parts = input.split(
            separator: UInt8(ascii: "|"), maxSplits: count - 1, omittingEmptySubsequences: false)
        return (0..<count).map { $0 < parts.count ? String(decoding: parts[$0], as: UTF8.self) : "" }
    }

    /// The text of bytes, for messages.
    static func text(_ bytes: some Sequence<UInt8>) -> String { String(decoding: Array(bytes), as: UTF8.self) }

    /// Whether bytes are UTF-8, which frames are checked for before any parser sees them.
    static func isUTF8(_ bytes: some Sequence<UInt8>) -> Bool {
        String(validating: Array(bytes), as: UTF8.self) != nil
    }
}
