#if LWS
internal import CLibwebsockets

/// The socket of a stream with its TLS session, if it has one.
struct OpenSocket {
    let descriptor: CInt
    /// OpenSSL's session, nil without TLS.
    let tls: OpaquePointer?
    /// The events that the poller watches for.
    var watched = CInt(clws_unwatched)
    /// Whether TLS has to send before it can read on.
    var readsWhenWritable = false
    /// Whether the end of writing is yet to be said, because the system did not take it.
    var isEndDue = false
    /// Whether the connection is broken, so that only bytes that the system has already received can still be read.
    var isBroken = false
    /// Whether the connection has ended behind the bytes that were read last.
    var isOver = false
    /// Whether the peer has sent the TLS `close_notify` alert.
    var hasFarewell = false

    init(_ descriptor: CInt, tls: OpaquePointer? = nil) {
        self.descriptor = descriptor
        self.tls = tls
    }

    /// Takes a connection from the library, which is left with a copy of `idleSocket` and closes that at once; nil, and
    /// closed, when there is no descriptor or no memory to spare.
    init?(takenFrom connection: OpaquePointer, leaving idleSocket: CInt) {
        var taken = clws_taken()
        guard clws_take(connection, idleSocket, &taken) else { return nil }
        self.init(taken.descriptor, tls: taken.tls)
    }

    /// Says that nothing more is sent; returns false when that has to be repeated.
    func endWriting() -> Bool { clws_end_writing(self.descriptor, self.tls) }

    func close() { clws_close(self.descriptor, self.tls) }
}
#endif
