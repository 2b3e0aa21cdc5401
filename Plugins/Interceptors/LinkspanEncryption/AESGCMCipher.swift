#if Encryption && OUTBOX
public import Crypto
internal import Foundation
public import LinkspanOutbox

/// Seals the payloads of an outbox by AES-GCM, with keys that the app provides.
///
/// ```swift
/// let outbox = Outbox(path: path) {
///     $0.cipher = AESGCMCipher { id in
///         let entry = try keychain.outboxKey(id)
///         return .init(id: entry.id, key: SymmetricKey(data: entry.data))
///     }
/// }
/// ```
///
/// Each sealed text begins with the number of its key. To change keys, give another one when asked for the present key,
/// call ``/LinkspanOutbox/Outbox/reseal()``, and forget the former key when that has returned.
public struct AESGCMCipher: OutboxCipher {
    /// A key and the number by which it is found again.
    public struct Key: Sendable {
        /// The number; another one for each key.
        public var id: UInt32
        /// The key, of 128, 192 or 256 bits.
        public var key: SymmetricKey

        /// Makes a numbered key.
        public init(id: UInt32, key: SymmetricKey) {
            self.id = id
            self.key = key
        }
    }

    /// The reason a text cannot be opened.
    public enum Failure: Error, Sendable, Hashable {
        /// Too short to have been sealed.
        case malformed
        /// The provider gave a key with another number.
        case unknownKey(UInt32)
    }

    private let provide: @Sendable (UInt32?) throws -> Key

    /// Makes a cipher.
    ///
    /// - Parameter provide: gives the key of a number, or the present one for nil; called for each payload, on the
    ///   outbox's executor.
    public init(_ provide: @escaping @Sendable (UInt32?) throws -> Key) { self.provide = provide }

    /// Seals bytes with the present key.
    public func seal(_ bytes: [UInt8], context: [UInt8]) throws -> [UInt8] {
        let key = try self.provide(nil)
        let number = Self.bytes(key.id)
        // The number is authenticated, too.
        let box = try AES.GCM.seal(bytes, using: key.key, authenticating: number + context)
        return number + Array(box.nonce) + Array(box.ciphertext) + Array(box.tag)
    }

    /// Opens bytes with the key they name.
    public func open(_ bytes: [UInt8], context: [UInt8]) throws -> [UInt8] {
        guard bytes.count >= 4 + 12 + 16 else { throw Failure.malformed }
        let number = Array(bytes[..<4])
        let id = number.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        let key = try self.provide(id)
        guard key.id == id else { throw Failure.unknownKey(id) }
        let box = try AES.GCM.SealedBox(combined: Data(bytes[4...]))
        return Array(try AES.GCM.open(box, using: key.key, authenticating: number + context))
    }

    private static func bytes(_ id: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: id >> $0) }
    }
}
#else
/// Encryption of an outbox, which is not built in.
@available(*, unavailable, message: "not built in: switch the traits Outbox and Encryption of the package linkspan on")
public enum AESGCMCipher {}
#endif
