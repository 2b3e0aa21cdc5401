/// The part of an answer's head that is looked at: what a WebSocket handshake is judged by (RFC 6455 section 4.1), and
/// cookies.
///
/// A header that the server did not send is nil; one that it sent more than once has its values joined by commas.
/// Back ends check none of them: that is the duty of the code that opens the stream.
public struct ResponseHead: Sendable, Hashable {
    /// The HTTP status, always 101 for an opened stream.
    public var status: Int
    /// The value of `Upgrade`.
    public var upgrade: String?
    /// The value of `Connection`.
    public var connection: String?
    /// The value of `Sec-WebSocket-Accept`.
    public var accept: String?
    /// The value of `Sec-WebSocket-Protocol`.
    public var subprotocol: String?
    /// The value of `Sec-WebSocket-Extensions`.
    public var extensions: String?

    /// The values of `Set-Cookie`, at most 64 of them.
    ///
    /// Secrets.
    public var cookies: [String] = []
    /// The value of `Retry-After`, when the server gave it in seconds.
    public var retryAfter: Duration?
    /// Whether the response gives the length of its body, by `Content-Length` or by chunks.
    public var hasBody = false
    /// The length of the body, if the answer says it; one that cannot be read is taken for the longest.
    public var length: Int?

    /// Makes a head from its parts.
    public init(
        status: Int, upgrade: String? = nil, connection: String? = nil, accept: String? = nil,
        subprotocol: String? = nil, extensions: String? = nil
    ) {
        self.status = status
        self.upgrade = upgrade
        self.connection = connection
        self.accept = accept
        self.subprotocol = subprotocol
        self.extensions = extensions
    }
}
