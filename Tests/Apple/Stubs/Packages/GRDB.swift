// swift-format-ignore-file
// GRDB.swift.
import Foundation

public protocol DatabaseValueConvertible {}
extension Int: DatabaseValueConvertible {}
extension Int32: DatabaseValueConvertible {}
extension Int64: DatabaseValueConvertible {}
extension Bool: DatabaseValueConvertible {}
extension String: DatabaseValueConvertible {}
extension Data: DatabaseValueConvertible {}
extension Double: DatabaseValueConvertible {}
extension DatabaseValueConvertible {
    public static func fetchOne(_ database: Database, sql: String, arguments: StatementArguments = []) throws -> Self? { nil }
    public static func fetchAll(_ database: Database, sql: String, arguments: StatementArguments = []) throws -> [Self] { [] }
    public static func fetchOne(_ statement: Statement, arguments: StatementArguments? = nil) throws -> Self? { nil }
    public static func fetchAll(_ statement: Statement, arguments: StatementArguments? = nil) throws -> [Self] { [] }
}
public struct DatabaseValue: DatabaseValueConvertible {}
extension DatabaseValueConvertible {
    public static func fromDatabaseValue(_ dbValue: DatabaseValue) -> Self? { nil }
}
public struct StatementArguments: ExpressibleByArrayLiteral {
    public init(arrayLiteral elements: (any DatabaseValueConvertible)?...) {}
}
public final class Statement {
    public func execute(arguments: StatementArguments? = nil) throws {}
}
public final class RowCursor {
    public func next() throws -> Row? { nil }
}
public final class Row {
    public subscript<Value: DatabaseValueConvertible>(_ index: Int) -> Value { fatalError() }
    public subscript<Value: DatabaseValueConvertible>(_ index: Int) -> Value? { nil }
    public subscript<Value: DatabaseValueConvertible>(_ name: String) -> Value { fatalError() }
    public subscript<Value: DatabaseValueConvertible>(_ name: String) -> Value? { nil }
    public static func fetchOne(_ database: Database, sql: String, arguments: StatementArguments = []) throws -> Row? { nil }
    public static func fetchAll(_ database: Database, sql: String, arguments: StatementArguments = []) throws -> [Row] { [] }
    public static func fetchOne(_ statement: Statement, arguments: StatementArguments? = nil) throws -> Row? { nil }
    public static func fetchAll(_ statement: Statement, arguments: StatementArguments? = nil) throws -> [Row] { [] }
    public static func fetchCursor(_ database: Database, sql: String, arguments: StatementArguments = []) throws -> RowCursor { fatalError() }
    public static func fetchCursor(_ statement: Statement, arguments: StatementArguments? = nil) throws -> RowCursor { fatalError() }
}
public final class Database {
    public enum TransactionKind { case deferred, immediate, exclusive }
    public enum TransactionCompletion { case commit, rollback }
    public enum BusyMode: Sendable { case immediateError, timeout(TimeInterval) }
    public func inTransaction(_ kind: TransactionKind? = nil, _ body: () throws -> TransactionCompletion) throws {}
    public func execute(sql: String, arguments: StatementArguments = []) throws {}
    public func cachedStatement(sql: String) throws -> Statement { fatalError() }
    public var changesCount: Int { 0 }
    public var lastInsertedRowID: Int64 { 0 }
}
public struct Configuration: Sendable {
    public init() {}
    public var label: String?
    public var busyMode = Database.BusyMode.immediateError
    public var readonly = false
}
public final class DatabaseQueue: @unchecked Sendable {
    public init(path: String, configuration: Configuration = Configuration()) throws {}
    public func writeWithoutTransaction<T>(_ body: (Database) throws -> T) rethrows -> T { fatalError() }
    public func read<T>(_ body: (Database) throws -> T) throws -> T { fatalError() }
    public func close() throws {}
}
public struct ResultCode: RawRepresentable, Equatable, Hashable, Sendable {
    public let rawValue: CInt
    public init(rawValue: CInt) { self.rawValue = rawValue }
    public var primaryResultCode: ResultCode { self }
    public static let SQLITE_FULL = ResultCode(rawValue: 13)
    public static let SQLITE_CORRUPT = ResultCode(rawValue: 11)
    public static let SQLITE_NOTADB = ResultCode(rawValue: 26)
    public static let SQLITE_READONLY = ResultCode(rawValue: 8)
    public static let SQLITE_CANTOPEN = ResultCode(rawValue: 14)
    public static let SQLITE_IOERR = ResultCode(rawValue: 10)
    public static let SQLITE_PERM = ResultCode(rawValue: 3)
    public static let SQLITE_AUTH = ResultCode(rawValue: 23)
    public static let SQLITE_BUSY = ResultCode(rawValue: 5)
    public static let SQLITE_LOCKED = ResultCode(rawValue: 6)
    public static let SQLITE_CONSTRAINT = ResultCode(rawValue: 19)
    public static let SQLITE_ERROR = ResultCode(rawValue: 1)
}
public struct DatabaseError: Error {
    public var resultCode: ResultCode { fatalError() }
    public var extendedResultCode: ResultCode { fatalError() }
    public var message: String? { nil }
}
