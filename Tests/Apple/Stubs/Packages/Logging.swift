// swift-format-ignore-file
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
