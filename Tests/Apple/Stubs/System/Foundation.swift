// swift-format-ignore-file
// Foundation, as of macOS 10.15 and iOS 13 unless a line says otherwise. On Apple's systems it brings Darwin and Dispatch along.
@_exported import Darwin
@_exported import Dispatch

public typealias TimeInterval = Double

public struct Data: RandomAccessCollection, MutableCollection, RangeReplaceableCollection, Hashable, Codable, Sendable {
    public typealias Index = Int
    public struct Base64EncodingOptions: OptionSet, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }
        public static let lineLength64Characters = Self(rawValue: 1)
        public static let endLineWithLineFeed = Self(rawValue: 32)
    }
    public struct Base64DecodingOptions: OptionSet, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }
    }
    public init() {}
    public init(capacity: Int) {}
    public init(_ elements: some Sequence<UInt8>) {}
    public init(repeating: UInt8, count: Int) {}
    public init(bytes: UnsafeRawPointer, count: Int) {}
    public init?(base64Encoded: String, options: Base64DecodingOptions = []) {}
    public init?(base64Encoded: Data, options: Base64DecodingOptions = []) {}
    public func base64EncodedString(options: Base64EncodingOptions = []) -> String { "" }
    public func base64EncodedData(options: Base64EncodingOptions = []) -> Data { Data() }
    public var startIndex: Int { 0 }
    public var endIndex: Int { 0 }
    public subscript(index: Int) -> UInt8 {
        get { 0 }
        set {}
    }
    public subscript(range: Range<Int>) -> Data {
        get { self }
        set {}
    }
    public mutating func replaceSubrange<Other: Collection<UInt8>>(_ range: Range<Int>, with new: Other) {}
    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try body(UnsafeRawBufferPointer(start: nil, count: 0))
    }
    public init(from decoder: any Decoder) throws {}
    public func encode(to encoder: any Encoder) throws {}
}

public struct Date: Hashable, Comparable, Codable, Sendable {
    public init() {}
    public init(timeIntervalSince1970: TimeInterval) {}
    public init(timeIntervalSinceReferenceDate: TimeInterval) {}
    public var timeIntervalSince1970: TimeInterval { 0 }
    public var timeIntervalSinceReferenceDate: TimeInterval { 0 }
    public static func < (left: Date, right: Date) -> Bool { false }
    @available(macOS 12, iOS 15, tvOS 15, watchOS 8, visionOS 1, *)
    public struct FormatStyle: Sendable {
        public struct DateStyle: Sendable { public static let omitted = Self() }
        public struct TimeStyle: Sendable { public static let shortened = Self() }
    }
    @available(macOS 12, iOS 15, tvOS 15, watchOS 8, visionOS 1, *)
    public func formatted(date: FormatStyle.DateStyle, time: FormatStyle.TimeStyle) -> String { "" }
}

public struct URL: Hashable, Codable, Sendable, CustomStringConvertible {
    public init?(string: String) {}
    public init(fileURLWithPath: String) {}
    public var absoluteString: String { "" }
    public var path: String { "" }
    public var scheme: String? { nil }
    public var host: String? { nil }
    public var port: Int? { nil }
    public var description: String { "" }
    public func appendingPathComponent(_ component: String) -> URL { self }
    @available(macOS 13, iOS 16, tvOS 16, watchOS 9, visionOS 1, *)
    public static var applicationSupportDirectory: URL { fatalError() }
}

public struct UUID: Hashable, Codable, Sendable, CustomStringConvertible {
    public init() {}
    public init?(uuidString: String) {}
    public var uuidString: String { "" }
    public var description: String { "" }
}

public struct Decimal: Hashable, Codable, Sendable, CustomStringConvertible {
    public init() {}
    public init?(string: String) {}
    public var isFinite: Bool { true }
    public var description: String { "" }
    public init(from decoder: any Decoder) throws {}
    public func encode(to encoder: any Encoder) throws {}
}

open class JSONEncoder {
    public struct OutputFormatting: OptionSet, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }
        public static let prettyPrinted = Self(rawValue: 1)
        public static let sortedKeys = Self(rawValue: 2)
        public static let withoutEscapingSlashes = Self(rawValue: 8)
    }
    public enum DateEncodingStrategy: Sendable {
        case deferredToDate, secondsSince1970, millisecondsSince1970, iso8601
        @preconcurrency case custom(@Sendable (Date, any Encoder) throws -> Void)
    }
    public enum DataEncodingStrategy: Sendable {
        case deferredToData, base64
        @preconcurrency case custom(@Sendable (Data, any Encoder) throws -> Void)
    }
    public enum KeyEncodingStrategy: Sendable {
        case useDefaultKeys, convertToSnakeCase
        @preconcurrency case custom(@Sendable ([any CodingKey]) -> any CodingKey)
    }
    public enum NonConformingFloatEncodingStrategy: Sendable {
        case `throw`
        case convertToString(positiveInfinity: String, negativeInfinity: String, nan: String)
    }
    public init() {}
    open var outputFormatting: OutputFormatting = []
    open var dateEncodingStrategy = DateEncodingStrategy.deferredToDate
    open var dataEncodingStrategy = DataEncodingStrategy.base64
    open var keyEncodingStrategy = KeyEncodingStrategy.useDefaultKeys
    open var nonConformingFloatEncodingStrategy = NonConformingFloatEncodingStrategy.throw
    open var userInfo: [CodingUserInfoKey: any Sendable] = [:]
    open func encode<T: Encodable>(_ value: T) throws -> Data { Data() }
}

open class JSONDecoder {
    public enum DateDecodingStrategy: Sendable {
        case deferredToDate, secondsSince1970, millisecondsSince1970, iso8601
        @preconcurrency case custom(@Sendable (any Decoder) throws -> Date)
    }
    public enum DataDecodingStrategy: Sendable {
        case deferredToData, base64
        @preconcurrency case custom(@Sendable (any Decoder) throws -> Data)
    }
    public enum KeyDecodingStrategy: Sendable {
        case useDefaultKeys, convertFromSnakeCase
        @preconcurrency case custom(@Sendable ([any CodingKey]) -> any CodingKey)
    }
    public enum NonConformingFloatDecodingStrategy: Sendable {
        case `throw`
        case convertFromString(positiveInfinity: String, negativeInfinity: String, nan: String)
    }
    public init() {}
    open var dateDecodingStrategy = DateDecodingStrategy.deferredToDate
    open var dataDecodingStrategy = DataDecodingStrategy.base64
    open var keyDecodingStrategy = KeyDecodingStrategy.useDefaultKeys
    open var nonConformingFloatDecodingStrategy = NonConformingFloatDecodingStrategy.throw
    open var userInfo: [CodingUserInfoKey: any Sendable] = [:]
    open func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T { fatalError() }
}

open class NSObject: Hashable {
    public init() {}
    public static func == (left: NSObject, right: NSObject) -> Bool { left === right }
    open func hash(into hasher: inout Hasher) {}
    open var description: String { "" }
}
public protocol NSObjectProtocol: AnyObject {}
extension NSObject: NSObjectProtocol {}

public struct Notification {
    public struct Name: Hashable, RawRepresentable, Sendable {
        public var rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public init(_ rawValue: String) { self.rawValue = rawValue }
    }
    public var name: Name
    public var object: Any?
    public var userInfo: [AnyHashable: Any]?
}
open class OperationQueue: NSObject, @unchecked Sendable {
    public class var main: OperationQueue { fatalError() }
}
open class NotificationCenter: NSObject, @unchecked Sendable {
    public class var `default`: NotificationCenter { fatalError() }
    open func addObserver(
        forName name: Notification.Name?, object: Any?, queue: OperationQueue?,
        using block: @escaping @Sendable (Notification) -> Void
    ) -> any NSObjectProtocol { fatalError() }
    open func removeObserver(_ observer: Any) {}
}

public struct FileAttributeKey: Hashable, RawRepresentable, Sendable {
    public var rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public static let protectionKey = FileAttributeKey(rawValue: "")
}
public struct FileProtectionType: Hashable, RawRepresentable, Sendable {
    public var rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    @available(macOS 11, iOS 9, visionOS 1, *)
    public static let completeUntilFirstUserAuthentication = FileProtectionType(rawValue: "")
}
open class FileManager: NSObject, @unchecked Sendable {
    public class var `default`: FileManager { fatalError() }
    open func setAttributes(_ attributes: [FileAttributeKey: Any], ofItemAtPath path: String) throws {}
    open func fileExists(atPath path: String) -> Bool { false }
    open func copyItem(atPath path: String, toPath other: String) throws {}
    open func createDirectory(at url: URL, withIntermediateDirectories: Bool) throws {}
}
open class Bundle: NSObject, @unchecked Sendable {
    public class var main: Bundle { fatalError() }
    open func path(forResource name: String?, ofType kind: String?) -> String? { nil }
}
open class ProcessInfo: NSObject, @unchecked Sendable {
    public class var processInfo: ProcessInfo { fatalError() }
    open var environment: [String: String] { [:] }
    open var processName: String { "" }
    open func beginActivity(options: ActivityOptions, reason: String) -> any NSObjectProtocol { fatalError() }
    open func endActivity(_ activity: any NSObjectProtocol) {}
    open func performExpiringActivity(withReason reason: String, using block: @escaping @Sendable (Bool) -> Void) {}
    public struct ActivityOptions: OptionSet, Sendable {
        public let rawValue: UInt64
        public init(rawValue: UInt64) { self.rawValue = rawValue }
        public static let userInitiated = Self(rawValue: 1)
        public static let suddenTerminationDisabled = Self(rawValue: 2)
        public static let automaticTerminationDisabled = Self(rawValue: 4)
        public static let idleSystemSleepDisabled = Self(rawValue: 8)
        public static let background = Self(rawValue: 16)
    }
}
extension String {
    public struct Encoding: Sendable { public static let utf8 = Self() }
    public init(contentsOfFile path: String, encoding: Encoding) throws { self = "" }
    public func trimmingCharacters(in set: CharacterSet) -> String { self }
    public func addingPercentEncoding(withAllowedCharacters set: CharacterSet) -> String? { self }
}
public struct CharacterSet: Sendable {
    init() {}
    public init(charactersIn text: String) {}
    public static let whitespacesAndNewlines = Self()
    public static let whitespaces = Self()
}
public func autoreleasepool<Result>(_ body: () throws -> Result) rethrows -> Result { try body() }
public let NSUserActivityTypeBrowsingWeb = ""
open class NSUserActivity: NSObject {
    open var activityType: String { "" }
    open var webpageURL: URL?
}
open class JSONSerialization: NSObject {
    open class func isValidJSONObject(_ value: Any) -> Bool { false }
    open class func data(withJSONObject value: Any) throws -> Data { Data() }
}
open class FileHandle: NSObject, @unchecked Sendable {
    public class var standardOutput: FileHandle { fatalError() }
    public class var standardError: FileHandle { fatalError() }
    @available(macOS 10.15.4, iOS 13.4, watchOS 6.2, tvOS 13.4, visionOS 1, *)
    open func write<Bytes: DataProtocol>(contentsOf data: Bytes) throws {}
}
public protocol DataProtocol: RandomAccessCollection where Element == UInt8 {}
extension Data: DataProtocol {}
extension Array: DataProtocol where Element == UInt8 {}
extension ArraySlice: DataProtocol where Element == UInt8 {}
public struct URLRequest: Hashable, Sendable {
    public init(url: URL, timeoutInterval: TimeInterval = 60) {}
    public var url: URL?
    public var timeoutInterval: TimeInterval { get { 0 } set {} }
    public var allHTTPHeaderFields: [String: String]?
    public func value(forHTTPHeaderField field: String) -> String? { nil }
    public mutating func setValue(_ value: String?, forHTTPHeaderField field: String) {}
}
public struct URLComponents: Hashable, Sendable {
    public init?(string: String) {}
    public var user: String?
    public var password: String?
    public var url: URL? { nil }
}
open class HTTPCookie: NSObject, @unchecked Sendable {
    open var name: String { "" }
    open var value: String { "" }
    open class func requestHeaderFields(with cookies: [HTTPCookie]) -> [String: String] { [:] }
    open class func cookies(withResponseHeaderFields fields: [String: String], for url: URL) -> [HTTPCookie] { [] }
}
open class HTTPCookieStorage: NSObject, @unchecked Sendable {
    open class var shared: HTTPCookieStorage { HTTPCookieStorage() }
    open func cookies(for url: URL) -> [HTTPCookie]? { nil }
    open func setCookie(_ cookie: HTTPCookie) {}
}
public protocol URLSessionDelegate: NSObjectProtocol, Sendable {}
open class NSArray: NSObject {}
open class NSData: NSObject {}
open class NSDictionary: NSObject {}
open class NSString: NSObject {}
open class NSNull: NSObject, @unchecked Sendable {}
public struct CGFloat: Sendable, Hashable {
    public init(_ value: Double) {}
}
extension Double {
    public init(_ value: CGFloat) { fatalError() }
}
open class NSNumber: NSObject, @unchecked Sendable {
    public init(value: Bool) {}
    public init(value: Int) {}
    public init(value: UInt64) {}
    public init(value: Double) {}
    open var objCType: UnsafePointer<CChar> { fatalError() }
    open var boolValue: Bool { false }
    open var doubleValue: Double { 0 }
    open var int64Value: Int64 { 0 }
    open var uint64Value: UInt64 { 0 }
}
public protocol LocalizedError: Error {
    var errorDescription: String? { get }
}
extension StringProtocol {
    public var capitalized: String { "" }
    public func trimmingCharacters(in set: CharacterSet) -> String { "" }
}
