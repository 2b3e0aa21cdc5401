#if OUTBOX
internal import Foundation
internal import GRDB
internal import Linkspan

/// Payloads as they stand in rows: a byte that says whether they are sealed, and their encoding.
struct SealedPayload {
    /// The role of a payload in its row.
    enum Role: String {
        case content, reply, received, resumption
    }

    private static let plain: UInt8 = 0
    private static let sealed: UInt8 = 1

    let cipher: (any OutboxCipher)?

    /// A payload as it is written.
    ///
    /// - Throws: `cipherFailed`.
    func encode(_ payload: Payload, _ role: Role, key: String, account: String) throws(OutboxError) -> Data {
        let encoded = PayloadCoding.encode(payload)
        guard let cipher = self.cipher else { return Data([Self.plain]) + encoded }
        do {
            let context = Self.context(role, key: key, account: account)
            return try Data([Self.sealed]) + cipher.seal(Array(encoded), context: context)
        } catch {
            throw OutboxError(.cipherFailed, "'\(key)' cannot be sealed: \(error)")
        }
    }

    /// The payload that was written; nil when it cannot be one.
    ///
    /// - Throws: `cipherFailed`.
    func decode(_ data: Data, _ role: Role, key: String, account: String) throws(OutboxError) -> Payload? {
        switch data.first {
        case Self.plain: return PayloadCoding.decode(data.dropFirst())
        case Self.sealed:
            guard let cipher = self.cipher else {
                throw OutboxError(.cipherFailed, "'\(key)' is sealed, and the outbox has no cipher")
            }
            let opened: [UInt8]
            do {
                opened = try cipher.open(
                    Array(data.dropFirst()), context: Self.context(role, key: key, account: account))
            } catch {
                throw OutboxError(.cipherFailed, "'\(key)' cannot be opened: \(error)")
            }
            return PayloadCoding.decode(Data(opened))
        default: return nil
        }
    }

    /// Whether the cipher decrypts at least half of the encrypted payloads among the 16 newest rows.
    ///
    /// If so, the cipher has the right key, and a payload that it cannot decrypt is damaged.
    func opensMost(_ role: Role, in database: Database) -> Bool {
        // Those that were found to be unreadable before say nothing about the key.
        let others = "code IS NOT '\(OutcomeColumns.unreadableCode)'"
        let sample =
            switch role {
            case .content: "content AS data, key, account FROM delivery WHERE content NOT NULL AND \(others)"
            case .reply: "reply AS data, key, account FROM delivery WHERE reply NOT NULL AND \(others)"
            case .received, .resumption:
                "content AS data, CAST(number AS TEXT) AS key, account FROM received WHERE content NOT NULL"
            }
        var (opened, count) = (0, 0)
        do {
            let rows = try Row.fetchCursor(database, sql: "SELECT \(sample) ORDER BY number DESC LIMIT 16")
            while let row = try rows.next() {
                guard let data: Data = row.value("data"), data.first == Self.sealed else { continue }
                count += 1
                let (key, account): (String?, String?) = (row.value("key"), row.value("account"))
                let payload = try? self.decode(data, role, key: key ?? "", account: account ?? "")
                if payload != nil { opened += 1 }
            }
        } catch {
            return false
        }
        return opened > 0 && opened * 2 >= count
    }

    /// A sealed payload is of no use in another row.
    private static func context(_ role: Role, key: String, account: String) -> [UInt8] {
        Array("\(role.rawValue)\0\(account)\0\(key)".utf8)
    }
}
#endif
