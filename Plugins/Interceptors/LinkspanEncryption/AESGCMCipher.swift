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
///         return (entry.id, SymmetricKey(data: entry.data))
///     }
/// }
/// ```
///
/// Each sealed text begins with the number of its key. To change keys, give another one when asked for the present key,
/// call ``/LinkspanOutbox/Outbox/reseal()``, and forget the former key when that has returned.
public struct AESGCMCipher: OutboxCipher {
    /// The reason a text cannot be opened.
    enum Failure: Error, Sendable, Hashable {
        /// Too short to have been sealed.
        case malformed
        /// The provider gave a key with another number.
        case unknownKey(UInt32)
    }

    private let provide: @Sendable (UInt32?) throws -> (id: UInt32, key: SymmetricKey)

    /// Makes a cipher.
    ///
    /// - Parameter provide: gives the key of a number, or the present one and its number for nil; called for each payload, on
    ///   the outbox's executor. Each key, of 128, 192 or 256 bits, has a number of its own.
    public init(_ provide: @escaping @Sendable (UInt32?) throws -> (id: UInt32, key: SymmetricKey)) {
        self.provide = provide
    }

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
