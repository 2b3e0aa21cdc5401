/// The part of an answer's head that is looked at: what a WebSocket handshake is judged by (RFC 6455 section 4.1), and
/// cookies.
///
/// A header that the server did not send is nil; one that it sent more than once has its values joined by commas.
/// Back ends check none of them: that is the duty of the code that opens the stream.
package struct ResponseHead: Sendable, Hashable {
    /// The HTTP status, always 101 for an opened stream.
    package var status: Int
    /// The value of `Upgrade`.
    package var upgrade: String?
    /// The value of `Connection`.
    package var connection: String?
    /// The value of `Sec-WebSocket-Accept`.
    package var accept: String?
    /// The value of `Sec-WebSocket-Protocol`.
    package var subprotocol: String?
    /// The value of `Sec-WebSocket-Extensions`.
    package var extensions: String?

    /// The values of `Set-Cookie`, at most 64 of them.
    ///
    /// Secrets.
    package var cookies: [String] = []
    /// The value of `Retry-After`, when the server gave it in seconds.
    package var retryAfter: Duration?
    /// Whether the response gives the length of its body, by `Content-Length` or by chunks.
    package var hasBody = false
    /// The length of the body, if the answer says it; one that cannot be read is taken for the longest.
    package var length: Int?

    /// Makes a head from its parts.
    package init(
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
