#if OUTBOX
internal import GRDB

/// One opening of the file.
struct OutboxSession {
    /// The bits of a place that count within an opening; those above are the opening's number.
    private static let placeBits = 36
    /// The last number of an opening that leaves places for it.
    private static let maximum: Int64 = 1 << 25

    let number: Int64
    /// The number of the latest delivery that the file has ever had; no later one has it again.
    let last: Int64
    let keys: KeyCounter
    let clock: OutboxClock

    /// Looks at a file without opening it for deliveries.
    init(reading clock: OutboxClock) {
        self.number = 0
        self.last = 0
        self.keys = KeyCounter(producer: "", session: "")
        self.clock = clock
    }

    /// The place after which those of this opening begin.
    ///
    /// Places rise over all openings, of all processes, also when no entry is left: a reader that waits after one finds
    /// those that come later.
    var firstPlace: Int64 { self.number << Self.placeBits }

    /// The number of the latest delivery that a file has ever had.
    static func last(in database: Database) throws -> Int64 {
        try Int64.fetchOne(
            database, sql: "SELECT max(last) FROM session WHERE last BETWEEN 0 AND ?", arguments: [Int64.max / 2]) ?? 0
    }

    /// Begins an opening, with a number above that of the one in which `former` was counted.
    init(beginning database: Database, clock: OutboxClock, after former: OutboxTotals) throws {
        let token = Token.make()
        let last = try Self.last(in: database)
        var number = max(former.lastEnded, former.lastReceived) >> Self.placeBits
        try database.inTransaction(.immediate) {
            // Nothing but damage makes one of these.
            try database.execute(sql: "DELETE FROM session WHERE number > ?", arguments: [Self.maximum])
            number = max(number, try Int64.fetchOne(database, sql: "SELECT max(number) FROM session") ?? 0) + 1
            try database.execute(
                sql: "INSERT INTO session (number, token, start, last) VALUES (?, ?, ?, ?)",
                arguments: [number, token, clock.start, last])
            // Rows that old were not sent for a thousand openings; the wall clock has to do for them.
            try database.execute(
                sql: "DELETE FROM session WHERE number <= ?", arguments: [number - 1_000])
            return .commit
        }
        self.number = number
        self.last = last
        let producer = try String.fetchOne(database, sql: "SELECT id FROM producer") ?? ""
        self.keys = KeyCounter(producer: producer, session: token)
        self.clock = clock
    }
}
#endif
