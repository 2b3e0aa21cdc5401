#if LWS
/// One connection of the library's, from the call that made it to its destruction.
///
/// It is the library's user data: retained once when it is made, released once when the library says that it destroyed
/// the connection, and only then.
final class Dial {
    let stream: LoopStream
    /// The library's connection, nil before its first event and once it is going down.
    var connection: OpaquePointer?
    /// Whether the server's certificate was looked at, and found good, on this very connection.
    var isVerified = false
    /// Whether the stream has taken over the socket from libwebsockets.
    ///
    /// From then on, events of libwebsockets for this connection are ignored.
    var isTaken = false
    /// Whether the library's reference has been given back.
    private var isReleased = false
    /// Whether the connection is going down by itself, so that it must not be touched any more.
    private var isOver = false

    private let host: VirtualHost

    init(stream: LoopStream, host: VirtualHost) {
        self.stream = stream
        self.host = host
        host.uses += 1
        stream.core.dialCount += 1
    }

    /// The reference for the library.
    func retained() -> UnsafeMutableRawPointer { Unmanaged.passRetained(self).toOpaque() }

    /// Gives the library's reference back, once.
    func release() {
        guard !self.isReleased else { return }
        self.isReleased = true
        self.host.uses -= 1
        self.stream.core.dialCount -= 1
        Unmanaged.passUnretained(self).release()
    }

    func noticed(_ connection: OpaquePointer) {
        if !self.isOver { self.connection = connection }
    }

    func goesDown() {
        self.isOver = true
        self.connection = nil
    }
}
#endif
