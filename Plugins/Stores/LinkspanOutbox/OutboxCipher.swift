/// Seals what an outbox writes about payloads and replies, so that the file and its log have no plaintext of them.
///
/// Names of events, keys, ordering keys, accounts and the texts of errors are not sealed: rows are found by them.
/// `LinkspanOutboxCrypto` has one by AES-GCM.
///
/// Called on the outbox's executor. A cipher that has no key at the moment, because the device is locked, throws: deliveries
/// are refused, and what is in the file waits.
public protocol OutboxCipher: Sendable {
    /// Seals bytes.
    ///
    /// - Parameters:
    ///   - bytes: the plaintext.
    ///   - context: what the bytes belong to; opening needs the same.
    /// - Returns: what is written.
    /// - Throws: whatever keeps it from sealing; the delivery is refused.
    func seal(_ bytes: [UInt8], context: [UInt8]) throws -> [UInt8]

    /// Opens what was sealed.
    ///
    /// - Parameters:
    ///   - bytes: what was written.
    ///   - context: what the bytes belong to.
    /// - Returns: the plaintext.
    /// - Throws: when they were not sealed by this cipher and for this context, or were changed.
    func open(_ bytes: [UInt8], context: [UInt8]) throws -> [UInt8]
}
