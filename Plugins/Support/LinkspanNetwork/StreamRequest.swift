/// A request that opens a stream: an HTTP/1.1 exchange that turns into a stream of bytes (RFC 9110 section 7.8), or one
/// whose answer has a body.
package struct StreamRequest: Sendable {
    /// A header field and its value.
    package typealias Header = (name: String, value: String)

    /// A host name, or a numeric address (IPv6 with or without brackets).
    package var host: String
    /// The TCP port.
    package var port: Int
    /// The path of a Unix-domain socket to connect to in place of host and port; nil for none.
    ///
    /// Host and port are still those of the `Host` field, and the host that of the certificate. Not with a proxy.
    package var socketPath: String?
    /// Whether the stream runs over TLS.
    package var isSecure: Bool
    /// The path and query, from `/` on, already percent-encoded.
    package var target: String
    /// The header fields, in the order they are sent.
    ///
    /// `Host` is made from the host and port, and no `Connection` or `Upgrade` is added: the caller gives those.
    package var headers: [Header]
    /// The rules for verifying the server of a secure stream.
    package var tls: TLSPolicy
    /// Gets what the server shows in the TLS handshake; nil unless set.
    package var onHandshake: (@Sendable (HandshakeEvent) -> Void)?
    /// The proxy; nil for none.
    ///
    /// Environment variables are not read.
    package var proxy: NetworkProxy?
    /// The time for name look-up, TCP, TLS and upgrade together; 10 seconds unless set, 60 at most.
    package var deadline: Duration
    /// The number of bytes waiting to be sent at which ``ByteStreamHandler/writable()`` is called; 64 KiB unless set.
    package var lowWaterMark = 64 * 1024
    /// The number of bytes waiting to be sent above which the stream reports that it is full; none unless set.
    package var highWaterMark = Int.max
    /// The purpose of the request; an upgrade unless set.
    package var purpose = Purpose.upgrade

    /// Whether the request lets the server keep the connection open for the next exchange; false unless set.
    package var keepsConnection = false

    /// A step of the server in a TLS handshake.
    package enum HandshakeEvent: Sendable {
        /// Its certificates in DER, its own first, before they are judged; again as the chain is built, at last with all.
        case certificates([[UInt8]])
        /// It asks for a certificate of this side.
        case certificateRequest
    }

    /// The purpose of a request.
    package enum Purpose: Sendable, Hashable {
        /// GET, with an answer that turns the connection into a stream (status 101).
        case upgrade
        /// GET, with an answer that has a body.
        case get
        /// POST of this body, with an answer that has a body.
        case post([UInt8])
    }

    /// Makes a request; see the properties for the defaults.
    package init(
        host: String, port: Int, isSecure: Bool, target: String = "/", headers: [Header] = [],
        tls: TLSPolicy = .system, deadline: Duration = .seconds(10),
        proxy: NetworkProxy? = nil
    ) {
        self.host = host
        self.port = port
        self.isSecure = isSecure
        self.target = target
        self.headers = headers
        self.tls = tls
        self.deadline = deadline
        self.proxy = proxy
    }
}
