#if LWS
internal import CLibwebsockets
internal import LinkspanNetwork

/// The shared parts of connections with one TLS policy: a vhost of the library, and a context of OpenSSL's.
final class VirtualHost {
    let pointer: OpaquePointer
    /// Streams and connections that need it.
    var uses = 0
    /// The time of its last look-up, counted in look-ups.
    var lastUse: UInt64 = 0
    private let tls: OpaquePointer?

    /// Makes one for a policy; nil for plain connections.
    init(_ policy: TLSPolicy?, on loop: UnsafeMutablePointer<clws_loop>) throws(ByteStreamError) {
        let tls = try policy.map { policy throws(ByteStreamError) in try TLSContext.make(policy) }
        guard let pointer = clws_vhost_create(loop, tls) else {
            SSL_CTX_free(tls)
            throw ByteStreamError(.unavailable, "the library could not make a vhost")
        }
        self.pointer = pointer
        self.tls = tls
    }

    /// Gives it back while the library goes on.
    func destroy() {
        lws_vhost_destroy(self.pointer)
        self.freeContext()
    }

    /// Gives back what the library leaves to us; called once, at the end of either.
    func freeContext() { SSL_CTX_free(self.tls) }
}
#endif
