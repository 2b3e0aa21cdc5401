#if OUTBOX
internal import Foundation
internal import GRDB

/// Tells rows that a disk has altered: a checksum of all in a delivery that the server sees, or that says whose it is.
///
/// FNV-1a of 64 bits: each change of a single byte gives another one.
enum RowChecksum {
    /// The checksum of a row.
    ///
    /// - Parameters:
    ///   - texts: account, key, ordering key and event.
    ///   - content: the arguments, as they are written.
    /// - Returns: the checksum.
    static func make(_ texts: [String], _ content: Data) -> Int64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        let add = { (byte: UInt8) in hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        for text in texts {
            text.utf8.forEach(add)
            // No text has it, so that none can pass a byte on to the next one.
            add(0xFF)
        }
        content.forEach(add)
        return Int64(bitPattern: hash)
    }

    /// The checksum of a row with other content.
    static func make(of row: Row, _ content: Data) -> Int64 {
        self.make(["account", "key", "ordering_key", "event"].map { row.value($0) ?? "" }, content)
    }

    /// Whether a row is as it was kept; those without content or checksum are taken for that.
    static func matches(_ row: Row) -> Bool {
        guard let checksum: Int64 = row.value("checksum"), let content: Data = row.value("content") else { return true }
        return checksum == self.make(of: row, content)
    }
}
#endif
