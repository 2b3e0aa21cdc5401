#if OUTBOX && Metrics
internal import GRDB
internal import Testing

/// What others do to the file of an outbox.
enum Database {
    static func execute(_ sql: String, in path: String) throws {
        let queue = try DatabaseQueue(path: path)
        try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
        try queue.close()
    }
}
#endif
