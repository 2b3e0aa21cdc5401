#if OUTBOX
/// A cipher for the payloads and replies of an outbox, so that the file and its log have no plaintext of them.
///
/// Names of events, keys, ordering keys, accounts and the texts of errors are not sealed: rows are found by them.
/// `LinkspanEncryption` has one by AES-GCM.
///
/// Called on the outbox's executor. A cipher that has no key at the moment, because the device is locked, throws:
/// deliveries are refused, and what is in the file waits. A row that cannot be opened while most others can
/// be is rejected.
public protocol OutboxCipher: Sendable {
    /// Seals bytes.
    ///
    /// - Parameters:
    ///   - bytes: the plaintext.
    ///   - context: the identity of the row that the bytes belong to; opening needs the same.
    /// - Returns: the sealed bytes.
    /// - Throws: any error; the delivery is then refused.
    func seal(_ bytes: [UInt8], context: [UInt8]) throws -> [UInt8]

    /// Opens sealed bytes.
    ///
    /// - Parameters:
    ///   - bytes: the sealed bytes.
    ///   - context: the identity of the row that the bytes belong to.
    /// - Returns: the plaintext.
    /// - Throws: when they were not sealed by this cipher and for this context, or were changed.
    func open(_ bytes: [UInt8], context: [UInt8]) throws -> [UInt8]
}
#endif
