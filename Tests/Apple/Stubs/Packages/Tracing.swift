// swift-format-ignore-file
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
