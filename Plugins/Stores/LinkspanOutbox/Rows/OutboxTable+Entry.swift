#if OUTBOX
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
        let (key, account): (String?, String?) = (row.value("key"), row.value("account"))
        let (orderingKey, event): (String?, String?) = (row.value("ordering_key"), row.value("event"))
        var delivery = StoredDelivery(
            key: key ?? "", account: account.flatMap { $0.isEmpty ? nil : String($0.dropFirst()) },
            orderingKey: orderingKey ?? "", event: event ?? "", payload: .empty,
            isCompressible: row.value("compressible") ?? true)
        delivery.number = UInt64(clamping: row.value("number") ?? Int64(0))
        delivery.refusals = Int(row.value("refusals") ?? Int32(0))
        let age = self.age(row)
        delivery.timeout = self.timeLeft(row.value("timeout"), age: age)
        let ended: (any DatabaseValueConvertible)? = row["ended"]
        // What waits has no outcome, whatever damage says.
        let columns = ended == nil ? nil : OutcomeColumns(row)
        let read = { (data: Data?, role: SealedPayload.Role) throws(OutboxError) -> Payload? in
            guard let data, let key, let account else { return nil }
            return try self.payload(in: data, role, key: key, account: account)
        }
        delivery.outcome = try columns?.outcome(reply: read(columns?.reply, .reply))
        // One that was found to be unreadable before stops nothing by being tried again.
        let isReadable = columns.map { !$0.isUnreadable } ?? RowChecksum.matches(row)
        let content = isReadable ? try read(row.value("content"), .content) : nil
        delivery.payload = content ?? .empty
        if delivery.outcome == nil, content == nil || ended != nil || [key, orderingKey, event].contains(nil) {
            delivery.outcome = .failure(OutcomeColumns.unreadable("row"))
        }
        return OutboxEntry(
            delivery: delivery, fate: columns?.fate ?? ended.map { _ in .rejected }, age: .milliseconds(age),
            place: row.value("ended") ?? 0)
    }

    /// The milliseconds since a row was kept; neither its payload nor its reply is read for it.
    func age(_ row: Row) -> Int64 {
        self.session.clock.elapsed(
            since: .init(wall: row.value("kept_wall") ?? 0, sinceStart: row.value("kept_start") ?? 0),
            in: row.value("start") ?? "")
    }

    /// The rest of a row's timeout and of the age that rows may reach; never more than there was at first.
    private func timeLeft(_ timeout: Int64?, age: Int64) -> Duration {
        let limit = min(max(0, timeout ?? .max), self.options.maximumAge.milliseconds)
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
        } catch  where error.code == .cipherFailed && self.sealing.opensMost(role, in: self.database) {
            // Its key may have come back meanwhile.
            return try? self.sealing.decode(data, role, key: key, account: account)
        }
    }
}

extension Row {
    /// The value of a column; nil when it has none of that type, as NULL in a damaged row, or a file of an earlier version
    /// lacks the column: GRDB's subscripts end the process then.
    func value<Value: DatabaseValueConvertible>(_ column: String) -> Value? {
        let value: (any DatabaseValueConvertible)? = self[column]
        return value.flatMap { Value.fromDatabaseValue($0.databaseValue) }
    }
}
#endif
