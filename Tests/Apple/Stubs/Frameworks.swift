// swift-format-ignore-file
// === AppKit
// AppKit, macOS 10.15.
// Only on: macos
@_exported import Foundation

@MainActor open class NSResponder: NSObject {}
@MainActor open class NSApplication: NSResponder {
    public class var shared: NSApplication { fatalError() }
    nonisolated public class var didBecomeActiveNotification: Notification.Name { fatalError() }
    nonisolated public class var willResignActiveNotification: Notification.Name { fatalError() }
    nonisolated public class var willTerminateNotification: Notification.Name { fatalError() }
}

// === Combine
// Combine, macOS 10.15 and iOS 13.
public protocol CustomCombineIdentifierConvertible {}
public protocol Cancellable { func cancel() }
public protocol Subscription: Cancellable, CustomCombineIdentifierConvertible {
    func request(_ demand: Subscribers.Demand)
}
public enum Subscribers {
    public struct Demand: Equatable, Comparable, Hashable, Codable, Sendable {
        public static let unlimited = Demand()
        public static let none = Demand()
        public static func max(_ value: Int) -> Demand { Demand() }
        public static func += (left: inout Demand, right: Demand) {}
        public static func -= (left: inout Demand, right: Int) {}
        public static func < (left: Demand, right: Demand) -> Bool { false }
        public static func > (left: Demand, right: Int) -> Bool { false }
    }
    public enum Completion<Failure: Error> { case finished, failure(Failure) }
}
public protocol Subscriber<Input, Failure> {
    associatedtype Input
    associatedtype Failure: Error
    func receive(subscription: any Subscription)
    func receive(_ input: Input) -> Subscribers.Demand
    func receive(completion: Subscribers.Completion<Failure>)
}
public struct AnySubscriber<Input, Failure: Error>: Subscriber {
    public init<S: Subscriber>(_ subscriber: S) where S.Input == Input, S.Failure == Failure {}
    public func receive(subscription: any Subscription) {}
    public func receive(_ input: Input) -> Subscribers.Demand { .none }
    public func receive(completion: Subscribers.Completion<Failure>) {}
}
public protocol Publisher<Output, Failure> {
    associatedtype Output
    associatedtype Failure: Error
    func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure
}
extension Publisher {
    public func map<T>(_ transform: @escaping (Output) -> T) -> Publishers.Map<Self, T> { fatalError() }
}
public enum Publishers {
    public struct Map<Upstream: Publisher, Output>: Publisher {
        public typealias Failure = Upstream.Failure
        public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {}
    }
}

// === Network
// Network.framework, macOS 10.14 and iOS 12.
import Darwin
import Dispatch

public struct NWInterface: Sendable {
    public enum InterfaceType: Sendable { case other, wifi, cellular, wiredEthernet, loopback }
    public let type: InterfaceType
    public let name: String
}
public struct NWPath: Sendable {
    public enum Status: Sendable { case satisfied, unsatisfied, requiresConnection }
    public enum UnsatisfiedReason: Sendable { case notAvailable, cellularDenied, wifiDenied, localNetworkDenied }
    public let status: Status
    public let availableInterfaces: [NWInterface]
    public let isExpensive: Bool
    public let isConstrained: Bool
}
public final class NWPathMonitor: Sendable {
    public init() {}
    @preconcurrency public var pathUpdateHandler: (@Sendable (NWPath) -> Void)? {
        get { nil }
        set {}
    }
    public func start(queue: DispatchQueue) {}
    public func cancel() {}
}
public enum NWError: Error, Equatable, CustomDebugStringConvertible, Sendable {
    case posix(POSIXErrorCode)
    case dns(Int32)
    case tls(Int32)
    public var debugDescription: String { "" }
}
// Not Sendable before the SDKs of 2024.
public class NWParameters {
    public final var preferNoProxies: Bool { get { false } set {} }
}

// === Security
// Security, macOS 10.15 and iOS 13 unless a line says otherwise. Types of the Core Foundation stand for the values that they
// are bridged to, so that `as` is the same word here and there.
import Foundation

public typealias OSStatus = Int32
public typealias CFString = String
public typealias CFData = Data
public typealias CFArray = [Any]
public typealias CFDictionary = [String: Any]
public typealias CFTypeRef = AnyObject
public typealias CFTypeID = UInt
public typealias CFAllocator = AnyObject
public final class CFError: Error, @unchecked Sendable {}
public func CFErrorGetCode(_ error: CFError) -> Int { 0 }
public func CFErrorCopyDescription(_ error: CFError) -> CFString { "" }
public func CFGetTypeID(_ object: CFTypeRef) -> CFTypeID { 0 }

public final class SecCertificate {}
public final class SecTrust {}
public final class SecPolicy {}
public final class SecIdentity {}
public final class SecKey {}
public var errSecSuccess: OSStatus { 0 }
public var errSecNotTrusted: OSStatus { -67843 }
public var errSecCreateChainFailed: OSStatus { -25318 }
public var errSecCertificateExpired: OSStatus { -67818 }
public var errSecCertificateNotValidYet: OSStatus { -67819 }
public var errSecInvalidExtendedKeyUsage: OSStatus { -67609 }

public func SecCertificateCreateWithData(_ allocator: CFAllocator?, _ data: CFData) -> SecCertificate? { nil }
public func SecCertificateCopyData(_ certificate: SecCertificate) -> CFData { Data() }
public func SecPolicyCreateSSL(_ server: Bool, _ host: CFString?) -> SecPolicy { SecPolicy() }
public func SecTrustCreateWithCertificates(
    _ certificates: CFArray, _ policies: CFTypeRef?, _ trust: UnsafeMutablePointer<SecTrust?>
) -> OSStatus { 0 }
@discardableResult public func SecTrustSetNetworkFetchAllowed(_ trust: SecTrust, _ isAllowed: Bool) -> OSStatus { 0 }
@discardableResult public func SecTrustSetAnchorCertificates(_ trust: SecTrust, _ anchors: CFArray?) -> OSStatus { 0 }
@discardableResult public func SecTrustSetAnchorCertificatesOnly(_ trust: SecTrust, _ isOnly: Bool) -> OSStatus { 0 }
public func SecTrustEvaluateWithError(_ trust: SecTrust, _ error: UnsafeMutablePointer<CFError?>?) -> Bool { false }
@available(macOS 12, iOS 15, tvOS 15, watchOS 8, visionOS 1, *)
public func SecTrustCopyCertificateChain(_ trust: SecTrust) -> CFArray? { nil }

public var kSecClass: CFString { "" }
public var kSecClassIdentity: CFString { "" }
public var kSecAttrLabel: CFString { "" }
public var kSecReturnRef: CFString { "" }
public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus { 0 }
public func SecIdentityGetTypeID() -> CFTypeID { 0 }
public func SecIdentityCopyCertificate(_ identity: SecIdentity, _ certificate: UnsafeMutablePointer<SecCertificate?>) -> OSStatus { 0 }
public func SecIdentityCopyPrivateKey(_ identity: SecIdentity, _ key: UnsafeMutablePointer<SecKey?>) -> OSStatus { 0 }

public enum SecKeyOperationType: Sendable { case sign, verify, encrypt, decrypt, keyExchange }
public struct SecKeyAlgorithm: RawRepresentable, Hashable, Sendable {
    public var rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public static let ecdsaSignatureMessageX962SHA256 = Self(rawValue: "")
    public static let ecdsaSignatureMessageX962SHA384 = Self(rawValue: "")
    public static let ecdsaSignatureMessageX962SHA512 = Self(rawValue: "")
    public static let rsaSignatureMessagePSSSHA256 = Self(rawValue: "")
    public static let rsaSignatureMessagePSSSHA384 = Self(rawValue: "")
    public static let rsaSignatureMessagePSSSHA512 = Self(rawValue: "")
    public static let rsaSignatureMessagePKCS1v15SHA256 = Self(rawValue: "")
    public static let rsaSignatureMessagePKCS1v15SHA384 = Self(rawValue: "")
    public static let rsaSignatureMessagePKCS1v15SHA512 = Self(rawValue: "")
}
public func SecKeyIsAlgorithmSupported(_ key: SecKey, _ operation: SecKeyOperationType, _ algorithm: SecKeyAlgorithm) -> Bool { false }
public func SecKeyCreateSignature(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ data: CFData, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? { nil }

// === UIKit
// UIKit, iOS and tvOS 13, visionOS 1.
// Only on: ios tvos visionos
@_exported import Foundation

public struct UIBackgroundTaskIdentifier: Hashable, RawRepresentable, Sendable {
    public var rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }
    public static let invalid = UIBackgroundTaskIdentifier(rawValue: 0)
}
@MainActor open class UIResponder: NSObject {}
@MainActor open class UIApplication: UIResponder {
    public enum State: Int, Sendable { case active, inactive, background }
    public class var shared: UIApplication { fatalError() }
    open var applicationState: State { .active }
    open var backgroundTimeRemaining: TimeInterval { 0 }
    open func beginBackgroundTask(
        withName name: String?, expirationHandler: (@MainActor @Sendable () -> Void)? = nil
    ) -> UIBackgroundTaskIdentifier { .invalid }
    open func endBackgroundTask(_ identifier: UIBackgroundTaskIdentifier) {}
    open func registerForRemoteNotifications() {}
    public class var willEnterForegroundNotification: Notification.Name { fatalError() }
    public class var didBecomeActiveNotification: Notification.Name { fatalError() }
    public class var willResignActiveNotification: Notification.Name { fatalError() }
    public class var didEnterBackgroundNotification: Notification.Name { fatalError() }
    public class var willTerminateNotification: Notification.Name { fatalError() }
}
public enum UIBackgroundFetchResult: UInt, Sendable { case newData, noData, failed }

// === WatchKit
// WatchKit, watchOS 7.
// Only on: watchos
@_exported import Foundation

@MainActor open class WKApplication: NSObject {
    public enum State: Int, Sendable { case active, inactive, background }
    @available(watchOS 7, *)
    public class func shared() -> WKApplication { fatalError() }
    @available(watchOS 7, *)
    nonisolated public class var didFinishLaunchingNotification: Notification.Name { fatalError() }
    @available(watchOS 7, *)
    nonisolated public class var didBecomeActiveNotification: Notification.Name { fatalError() }
    @available(watchOS 7, *)
    nonisolated public class var willResignActiveNotification: Notification.Name { fatalError() }
    @available(watchOS 7, *)
    nonisolated public class var willEnterForegroundNotification: Notification.Name { fatalError() }
    @available(watchOS 7, *)
    nonisolated public class var didEnterBackgroundNotification: Notification.Name { fatalError() }
}
public enum WKBackgroundFetchResult: UInt, Sendable { case newData, noData, failed }
