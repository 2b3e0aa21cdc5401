/// The limit for the credentials of a client, which the server holds as long as the client is connected.
///
/// They count toward no limit for buffered bytes, so they have one of their own, far below that of messages.
enum CredentialLimit {
    /// The most bytes.
    static let bytes = 64 << 10
    /// The reason of a refusal, which fits into a Close frame.
    static let reason = "the credentials are larger than the limit of \(Self.bytes) bytes"
}
