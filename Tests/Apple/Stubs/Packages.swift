// swift-format-ignore-file
// === ArgumentParser
// swift-argument-parser: for the command that explains a configuration, and what the app shares with the chat in the terminal.
public struct ExitCode: Error, RawRepresentable, Sendable, Hashable {
    public var rawValue: Int32
    public init(rawValue: Int32) { self.rawValue = rawValue }
    public init(_ code: Int32) { self.rawValue = code }
    public static let success = ExitCode(0)
    public static let failure = ExitCode(1)
    public static let validationFailure = ExitCode(64)
}
public protocol ParsableArguments {
    init()
}
public protocol ParsableCommand: ParsableArguments {
    static var configuration: CommandConfiguration { get }
    mutating func run() throws
}
extension ParsableCommand {
    public static var configuration: CommandConfiguration { CommandConfiguration() }
    public mutating func run() throws {}
}
public struct CommandConfiguration: Sendable {
    public init(
        commandName: String? = nil, abstract: String = "", discussion: String = "",
        subcommands: [any ParsableCommand.Type] = []
    ) {}
}
public struct ArgumentHelp: ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) {}
}
@propertyWrapper
public struct OptionGroup<Value: ParsableArguments> {
    public var wrappedValue: Value
    public init() { self.wrappedValue = Value() }
}
@propertyWrapper
public struct Flag<Value> {
    public var wrappedValue: Value
    public init(wrappedValue: Value, help: ArgumentHelp? = nil) { self.wrappedValue = wrappedValue }
}
@propertyWrapper
public struct Argument<Value> {
    public var wrappedValue: Value { fatalError() }
    public init(help: ArgumentHelp? = nil) where Value == String {}
}

// === Configuration
// swift-configuration, which needs more than the package declares: for the self-check of .ci/apple alone.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
public struct ConfigReader: Sendable {
    public func string(forKey key: String) -> String? { nil }
}

// === CoreMetrics
// swift-metrics.
public protocol MetricsFactory: Sendable {}
public enum MetricsSystem {
    public static var factory: any MetricsFactory { fatalError() }
}
public final class Counter: Sendable {
    public init(label: String, dimensions: [(String, String)] = [], factory: any MetricsFactory) {}
    public func increment(by amount: some BinaryInteger) {}
    public func increment() {}
}
public final class Gauge: Sendable {
    public init(label: String, dimensions: [(String, String)] = [], factory: any MetricsFactory) {}
    public func record(_ value: some BinaryInteger) {}
    public func record(_ value: some BinaryFloatingPoint) {}
}
public final class Timer: Sendable {
    public init(label: String, dimensions: [(String, String)] = [], factory: any MetricsFactory) {}
    public func recordNanoseconds(_ duration: Int64) {}
}

// === Crypto
// swift-crypto.
import Foundation

public struct SymmetricKey: Sendable {
    public init(data: some Sequence<UInt8>) {}
}
public enum AES {
    public enum GCM {
        public struct Nonce: Sequence, Sendable {
            public func makeIterator() -> IndexingIterator<[UInt8]> { [].makeIterator() }
        }
        public struct SealedBox: Sendable {
            public init(combined: some Collection<UInt8>) throws {}
            public var nonce: Nonce { fatalError() }
            public var ciphertext: Data { Data() }
            public var tag: Data { Data() }
        }
        public static func seal(
            _ message: some Collection<UInt8>, using key: SymmetricKey, nonce: Nonce? = nil, authenticating data: some Collection<UInt8>
        ) throws -> SealedBox { fatalError() }
        public static func open(_ box: SealedBox, using key: SymmetricKey, authenticating data: some Collection<UInt8>) throws -> Data { Data() }
    }
}

// === DequeModule
// swift-collections: as much of a deque as an array can lend.
public struct Deque<Element>: RandomAccessCollection, MutableCollection, RangeReplaceableCollection, ExpressibleByArrayLiteral {
    private var elements: [Element] = []
    public init() {}
    public init(arrayLiteral elements: Element...) { self.elements = elements }
    public var startIndex: Int { self.elements.startIndex }
    public var endIndex: Int { self.elements.endIndex }
    public subscript(position: Int) -> Element {
        get { self.elements[position] }
        set { self.elements[position] = newValue }
    }
    public mutating func replaceSubrange<Other: Collection<Element>>(_ range: Range<Int>, with new: Other) {
        self.elements.replaceSubrange(range, with: new)
    }
    public mutating func popFirst() -> Element? { nil }
    public mutating func popLast() -> Element? { nil }
    public mutating func prepend(_ element: Element) {}
    public mutating func prepend(contentsOf elements: some Collection<Element>) {}
}
extension Deque: Sendable where Element: Sendable {}
extension Deque: Equatable where Element: Equatable {}
extension Deque: Hashable where Element: Hashable {}
public struct UniqueDeque<Element: ~Copyable>: ~Copyable {
    public init() {}
    public var count: Int { 0 }
    public var isEmpty: Bool { true }
    public var indices: Range<Int> { 0..<0 }
    public subscript(position: Int) -> Element {
        _read { fatalError() }
        _modify { fatalError() }
    }
    public mutating func append(_ element: consuming Element) {}
    public mutating func popFirst() -> Element? { nil }
}
extension UniqueDeque: Sendable where Element: Sendable & ~Copyable {}

// === GRDBSQLite
// The SQLite of GRDB.swift.
public func sqlite3_progress_handler(
    _ connection: OpaquePointer?, _ steps: Int32, _ body: (@convention(c) (UnsafeMutableRawPointer?) -> Int32)?,
    _ context: UnsafeMutableRawPointer?
) {}

// === GRDB
// GRDB.swift.
import Foundation

public protocol DatabaseValueConvertible {}
extension DatabaseValueConvertible {
    public var databaseValue: DatabaseValue { fatalError() }
}
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
public struct DatabaseValue: DatabaseValueConvertible {
    public static let null = DatabaseValue()
}
extension DatabaseValue: Sendable {}
public struct ColumnInfo {
    public let name: String
    public let type: String
    public let isNotNull: Bool
}
extension DatabaseValueConvertible {
    public static func fromDatabaseValue(_ dbValue: DatabaseValue) -> Self? { nil }
}
public struct StatementArguments: ExpressibleByArrayLiteral {
    public init(arrayLiteral elements: (any DatabaseValueConvertible)?...) {}
    public init<S: Sequence>(_ sequence: S) where S.Element: DatabaseValueConvertible {}
    public static func + (left: StatementArguments, right: StatementArguments) -> StatementArguments { left }
}
public final class Statement {
    public func execute(arguments: StatementArguments? = nil) throws {}
}
public protocol Cursor<Element>: AnyObject {
    associatedtype Element
    func next() throws -> Element?
}
extension Cursor {
    public func map<Value>(_ transform: @escaping (Element) throws -> Value) -> MapCursor<Self, Value> { fatalError() }
}
public final class MapCursor<Base: Cursor, Element>: Cursor {
    public func next() throws -> Element? { nil }
}
extension RangeReplaceableCollection {
    public init<Base: Cursor>(_ cursor: Base) throws where Base.Element == Element { self.init() }
}
public final class RowCursor: Cursor {
    public func next() throws -> Row? { nil }
}
public final class Row {
    public subscript<Value: DatabaseValueConvertible>(_ index: Int) -> Value { fatalError() }
    public subscript<Value: DatabaseValueConvertible>(_ index: Int) -> Value? { nil }
    public subscript<Value: DatabaseValueConvertible>(_ name: String) -> Value { fatalError() }
    public subscript<Value: DatabaseValueConvertible>(_ name: String) -> Value? { nil }
    public subscript(_ name: String) -> (any DatabaseValueConvertible)? { nil }
    public var databaseValues: [DatabaseValue] { [] }
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
    public func columns(in table: String) throws -> [ColumnInfo] { [] }
    public func tableExists(_ name: String) throws -> Bool { false }
    public var sqliteConnection: OpaquePointer? { nil }
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
    public init(named name: String? = nil, configuration: Configuration = Configuration()) throws {}
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
    public static let SQLITE_INTERNAL = ResultCode(rawValue: 2)
    public static let SQLITE_INTERRUPT = ResultCode(rawValue: 9)
    public static let SQLITE_SCHEMA = ResultCode(rawValue: 17)
    public static let SQLITE_TOOBIG = ResultCode(rawValue: 18)
    public static let SQLITE_MISMATCH = ResultCode(rawValue: 20)
    public static let SQLITE_FORMAT = ResultCode(rawValue: 24)
}
public struct DatabaseError: Error {
    public var resultCode: ResultCode { fatalError() }
    public var extendedResultCode: ResultCode { fatalError() }
    public var message: String? { nil }
}

// === HeapModule
// swift-collections: what a heap promises.
public struct Heap<Element: Comparable> {
    public init() {}
    public init(_ elements: some Sequence<Element>) {}
    public var count: Int { 0 }
    public var isEmpty: Bool { true }
    public var min: Element? { nil }
    public var max: Element? { nil }
    public var unordered: [Element] { [] }
    public mutating func insert(_ element: Element) {}
    public mutating func popMin() -> Element? { nil }
    @discardableResult public mutating func removeMin() -> Element { fatalError() }
}
extension Heap: Sendable where Element: Sendable {}

// === Logging
// swift-log.
public struct Logger: Sendable {
    public enum Level: String, Codable, CaseIterable, Comparable, Sendable {
        case trace, debug, info, notice, warning, error, critical
        public static func < (left: Level, right: Level) -> Bool { false }
    }
    public struct Message: ExpressibleByStringInterpolation, Equatable, CustomStringConvertible, Sendable {
        public init(stringLiteral value: String) {}
        public var description: String { "" }
    }
    public enum MetadataValue: ExpressibleByStringInterpolation, ExpressibleByArrayLiteral, Sendable, Equatable {
        case string(String)
        case array([MetadataValue])
        public init(stringLiteral value: String) { self = .string(value) }
        public init(arrayLiteral elements: MetadataValue...) { self = .array(elements) }
    }
    public typealias Metadata = [String: MetadataValue]
    public var logLevel: Level { get { .info } set {} }
    public let label: String
    public init(label: String) { self.label = label }
    public subscript(metadataKey key: String) -> MetadataValue? { get { nil } set {} }
    public func log(level: Level, _ message: @autoclosure () -> Message, metadata: @autoclosure () -> Metadata? = nil) {}
    public func trace(_ message: @autoclosure () -> Message, metadata: @autoclosure () -> Metadata? = nil) {}
    public func debug(_ message: @autoclosure () -> Message, metadata: @autoclosure () -> Metadata? = nil) {}
    public func info(_ message: @autoclosure () -> Message, metadata: @autoclosure () -> Metadata? = nil) {}
    public func notice(_ message: @autoclosure () -> Message, metadata: @autoclosure () -> Metadata? = nil) {}
    public func warning(_ message: @autoclosure () -> Message, metadata: @autoclosure () -> Metadata? = nil) {}
    public func error(_ message: @autoclosure () -> Message, metadata: @autoclosure () -> Metadata? = nil) {}
}
public protocol LogHandler: Sendable {}
public struct StreamLogHandler: LogHandler {
    public static func standardError(label: String) -> StreamLogHandler { StreamLogHandler() }
}
extension Logger {
    public init(label: String, factory: (String) -> any LogHandler) { self.init(label: label) }
}

// === ServiceLifecycle
// swift-service-lifecycle.
public protocol Service: Sendable {
    func run() async throws
}
public func cancelWhenGracefulShutdown<T: Sendable>(
    _ operation: @Sendable @escaping () async throws -> T, isolation: isolated (any Actor)? = #isolation
) async rethrows -> T { try await operation() }
public func gracefulShutdown() async throws {}
extension Task where Success == Never, Failure == Never {
    public static var isShuttingDownGracefully: Bool { false }
}

// === Testing
// Swift Testing comes with Xcode.
public struct SourceLocation: Sendable {
    public init(fileID: String = #fileID, filePath: String = #filePath, line: Int = #line, column: Int = #column) {}
}
public struct Comment: Sendable, ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) {}
}
public struct Issue: Sendable {
    @discardableResult public static func record(_ comment: Comment? = nil, sourceLocation: SourceLocation = SourceLocation()) -> Self { Issue() }
}
public protocol CustomTestStringConvertible {
    var testDescription: String { get }
}
@freestanding(expression) public macro _sourceLocation() -> SourceLocation =
    #externalMacro(module: "TestingMacros", type: "SourceLocationMacro")

// === Tracing
// swift-distributed-tracing.
public struct ServiceContext: Sendable {
    public static var topLevel: ServiceContext { fatalError() }
    public static var current: ServiceContext? { nil }
    public static func withValue<T>(_ value: ServiceContext?, operation: () throws -> T) rethrows -> T { try operation() }
}
public enum SpanKind: Sendable { case server, client, producer, consumer, `internal` }
public struct SpanStatus: Sendable {
    public enum Code: Sendable { case ok, error }
    public init(code: Code, message: String? = nil) {}
}
public protocol SpanAttributeConvertible: Sendable {}
extension String: SpanAttributeConvertible {}
extension Int: SpanAttributeConvertible {}
extension Bool: SpanAttributeConvertible {}
public enum SpanAttribute: Sendable {}
public struct SpanAttributes: Sendable, ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, SpanAttribute)...) {}
    public subscript<T: SpanAttributeConvertible>(_ name: String) -> T? { get { nil } set {} }
    public mutating func merge(_ other: SpanAttributes) {}
}
public protocol TracerInstant: Comparable, Hashable, Sendable {
    var nanosecondsSinceEpoch: UInt64 { get }
}
public struct DefaultTracerClock {
    public struct Timestamp: TracerInstant {
        public let nanosecondsSinceEpoch: UInt64
        public init(nanosecondsSinceEpoch: UInt64) { self.nanosecondsSinceEpoch = nanosecondsSinceEpoch }
        public static func < (left: Self, right: Self) -> Bool { false }
    }
    public static var now: Timestamp { fatalError() }
    public init() {}
}
public protocol Span: AnyObject, Sendable {
    var context: ServiceContext { get }
    var attributes: SpanAttributes { get set }
    func setStatus(_ status: SpanStatus)
    func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant)
}
extension Span {
    public func updateAttributes(_ update: (inout SpanAttributes) -> Void) {}
    public func end() {}
}
public protocol Extractor: Sendable {
    associatedtype Carrier
    func extract(key: String, from carrier: Carrier) -> String?
}
public protocol Injector: Sendable {
    associatedtype Carrier
    func inject(_ value: String, forKey key: String, into carrier: inout Carrier)
}
public protocol Instrument: Sendable {
    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
    ) where Extract.Carrier == Carrier
    func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier
}
public protocol LegacyTracer: Instrument {}
public protocol Tracer: LegacyTracer {}
extension LegacyTracer {
    public func startSpan(
        _ name: String, context: @autoclosure () -> ServiceContext = .topLevel, ofKind kind: SpanKind = .internal,
        function: String = #function, file fileID: String = #fileID, line: UInt = #line
    ) -> any Span { fatalError() }
    public func startSpan<Instant: TracerInstant>(
        _ name: String, context: @autoclosure () -> ServiceContext = .topLevel, ofKind kind: SpanKind = .internal,
        at instant: @autoclosure () -> Instant, function: String = #function, file fileID: String = #fileID, line: UInt = #line
    ) -> any Span { fatalError() }
}
public enum InstrumentationSystem {
    public static var tracer: any Tracer { fatalError() }
}

// === Yams
// Yams.
public enum Resolver { case basic, `default` }
public enum Constructor { case `default` }
public enum Parser {
    public enum Encoding { case utf8, utf16 }
}
public final class Tag {}
public struct Mark: CustomStringConvertible, Sendable {
    public let line: Int
    public let column: Int
    public var description: String { "" }
}
public enum YamlError: Error {
    public struct Context: Sendable {
        public let text: String
        public let mark: Mark
    }
    case no
    case memory
    case reader(problem: String, offset: Int?, value: Int32, yaml: String)
    case scanner(context: Context?, problem: String, _ mark: Mark, yaml: String)
    case parser(context: Context?, problem: String, _ mark: Mark, yaml: String)
    case composer(context: Context?, problem: String, _ mark: Mark, yaml: String)
    case duplicatedKeysInMapping(duplicates: [String], context: YamlError.Context)
    case dataCouldNotBeDecoded(encoding: Int)
    case writer(problem: String)
    case emitter(problem: String)
    case representer(problem: String)
}
public enum Node: Hashable, Sendable {
    case scalar(Scalar)
    case mapping(Mapping)
    case sequence(Sequence)
    case alias(Alias)

    public struct Scalar: Hashable, Sendable {
        public enum Style: Sendable { case any, plain, singleQuoted, doubleQuoted, literal, folded }
        public var string: String
        public var style: Style
        public var mark: Mark? { nil }
    }
    public struct Alias: Hashable, Sendable {}
    public struct Mapping: Hashable, RandomAccessCollection, Sendable {
        public var startIndex: Int { 0 }
        public var endIndex: Int { 0 }
        public subscript(index: Int) -> (key: Node, value: Node) { fatalError() }
        public var mark: Mark? { nil }
    }
    public struct Sequence: Hashable, RandomAccessCollection, Sendable {
        public var startIndex: Int { 0 }
        public var endIndex: Int { 0 }
        public subscript(index: Int) -> Node { fatalError() }
        public var mark: Mark? { nil }
    }
    public var scalar: Scalar? { nil }
    public var mapping: Mapping? { nil }
    public var sequence: Sequence? { nil }
    public var mark: Mark? { nil }
    public var string: String? { nil }
    public var null: Int? { nil }
}
public func compose(
    yaml: String, _ resolver: Resolver = .default, _ constructor: Constructor = .default, _ encoding: Parser.Encoding = .utf8
) throws -> Node? { nil }
