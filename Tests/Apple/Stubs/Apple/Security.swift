// swift-format-ignore-file
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
