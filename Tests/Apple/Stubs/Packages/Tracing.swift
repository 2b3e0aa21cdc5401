// swift-format-ignore-file
// swift-distributed-tracing.
public struct ServiceContext: Sendable {
    public static var topLevel: ServiceContext { fatalError() }
    public static var current: ServiceContext? { nil }
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
    var attributes: SpanAttributes { get set }
    func setStatus(_ status: SpanStatus)
    func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant)
}
extension Span {
    public func updateAttributes(_ update: (inout SpanAttributes) -> Void) {}
    public func end() {}
}
public protocol LegacyTracer: Sendable {}
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
