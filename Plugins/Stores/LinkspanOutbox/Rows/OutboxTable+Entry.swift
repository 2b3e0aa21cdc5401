#if Outbox
internal import Foundation
internal import GRDB
internal import Linkspan

/// Rows as entries.
extension OutboxTable {
    /// The entry of a row; one that cannot be read has an empty payload, and an outcome that says so unless it has
    /// another.
    ///
    /// - Throws: `cipherFailed` when the key may be the reason.
    func entry(_ row: Row) throws -> OutboxEntry {
        let number: Int64 = row["number"]
        let account: String = row["account"]
        var delivery = StoredDelivery(
            key: row["key"], account: account.isEmpty ? nil : String(account.dropFirst()),
            orderingKey: row["ordering_key"], event: row["event"], payload: .empty,
            isCompressible: row["compressible"])
        delivery.number = UInt64(number)
        delivery.refusals = row["refusals"]
        let age = self.age(row)
        delivery.timeout = self.timeLeft(row["timeout"], age: age)
        let columns = OutcomeColumns(row)
        let reply = try columns?.reply.flatMap { data in
            try self.payload(in: data, .reply, key: delivery.key, account: account)
        }
        delivery.outcome = columns?.outcome(reply: reply)
        let content: Data? = row["content"]
        // One that was found to be unreadable before stops nothing by being tried again.
        if columns?.isUnreadable != true, let content {
            if let payload = try self.payload(in: content, .content, key: delivery.key, account: account) {
                delivery.payload = payload
            } else {
                delivery.outcome = delivery.outcome ?? .failure(OutcomeColumns.unreadable("arguments"))
            }
        }
        return OutboxEntry(delivery: delivery, fate: columns?.fate, age: .milliseconds(age), place: row["ended"] ?? 0)
    }

    /// The milliseconds since a row was kept; neither its payload nor its reply is read for it.
    func age(_ row: Row) -> Int64 {
        self.session.clock.elapsed(
            since: .init(wall: row["kept_wall"], sinceStart: row["kept_start"]), in: row["start"] ?? "")
    }

    /// The rest of a row's timeout and of the age that rows may reach; never more than there was at first.
    private func timeLeft(_ timeout: Int64?, age: Int64) -> Duration {
        let limit = min(timeout ?? .max, self.options.maximumAge.milliseconds)
        return .milliseconds(max(0, limit - age))
    }
}

// MARK: - Payloads

extension OutboxTable {
    /// The payload in a row; nil when the row itself is the reason that it cannot be read.
    ///
    /// - Throws: `cipherFailed` when the key may be the reason.
    func payload(
        in data: Data, _ role: SealedPayload.Role, key: String, account: String
    ) throws(OutboxError) -> Payload? {
        do {
            return try self.sealing.decode(data, role, key: key, account: account)
        } catch  where error.code == .cipherFailed && self.opensMost(role) {
            // Its key may have come back meanwhile.
            return try? self.sealing.decode(data, role, key: key, account: account)
        }
    }

    /// Whether the cipher opens at least half of the latest sealed payloads, so that its key is there and the right one.
    private func opensMost(_ role: SealedPayload.Role) -> Bool {
        // Those that were found to be unreadable before say nothing about the key.
        let others = "code IS NOT '\(OutcomeColumns.unreadableCode)'"
        let sample =
            switch role {
            case .content: "content, key, account FROM delivery WHERE content NOT NULL AND \(others)"
            case .reply: "reply, key, account FROM delivery WHERE reply NOT NULL AND \(others)"
            case .received, .resumption: "content, CAST(number AS TEXT), account FROM received WHERE content NOT NULL"
            }
        var (opened, count) = (0, 0)
        do {
            let rows = try Row.fetchCursor(self.database, sql: "SELECT \(sample) ORDER BY number DESC LIMIT 16")
            while let row = try rows.next() {
                let data: Data = row[0]
                guard SealedPayload.isSealed(data) else { continue }
                count += 1
                if (try? self.sealing.decode(data, role, key: row[1], account: row[2])) != nil { opened += 1 }
            }
        } catch {
            return false
        }
        return opened > 0 && opened * 2 >= count
    }
}
#endif
