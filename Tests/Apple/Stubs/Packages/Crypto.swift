// swift-format-ignore-file
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
