internal import CLibwebsockets
internal import LinkspanRuntime

/// A port at which a loop accepts streams of bytes, until it is closed or the loop ends, whether or not somebody holds it.
///
/// No TLS: for servers on the loopback, which tests and samples talk to.
public final class Listener: Sendable {
    /// Decides about a connection that has come in: the handler of its stream, or nil to drop it.
    ///
    /// Called on the loop's thread. The stream is open already, so ``ByteStreamHandler/opened(_:)`` is not called.
    public typealias Acceptor = @Sendable (ByteStream) -> (any ByteStreamHandler)?

    /// The loop on which the streams live.
    public let loop: EventLoop
    /// The port, also when the system was to choose one.
    public let port: Int

    let half: LoopConfined<ListeningSocket?>

    init(loop: EventLoop, port: Int, half: LoopConfined<ListeningSocket?>) {
        self.loop = loop
        self.port = port
        self.half = half
    }

    /// Gives the port up; the streams that were accepted live on.
    ///
    /// Returns when nobody can connect any more, which the loop's end brings about as well.
    public func close() async {
        await withCheckedContinuation { continuation in
            self.loop.execute {
                guard let half = self.half.value else { return continuation.resume() }
                half.close { continuation.resume() }
            }
        }
    }
}

extension EventLoop {
    /// Listens for connections.
    ///
    /// - Parameters:
    ///   - address: a numeric address, IPv4 or IPv6 without brackets.
    ///   - port: the port, or 0 for any that is free.
    ///   - backlog: how many connections the system keeps while nobody accepts them.
    ///   - lowWaterMark: the number of bytes waiting to be sent at which a stream's handler hears of the drain.
    ///   - accept: decides about each connection.
    /// - Returns: the listener, which already listens.
    /// - Throws: ``ByteStreamError`` with code `unlistenable` when the address or port is not to be had, and with code
    ///   `loopStopped` or `unavailable` when there is no loop to listen on.
    public func listen(
        address: String = "127.0.0.1", port: Int = 0, backlog: Int = 128, lowWaterMark: Int = 64 * 1024,
        accept: @escaping Listener.Acceptor
    ) async throws(ByteStreamError) -> Listener {
        let request = ListeningSocket.Request(
            address: address, port: port, backlog: backlog, lowWaterMark: lowWaterMark)
        // By way of a lock: the thread sanitizer does not see what a continuation hands over from a foreign thread.
        let result = Lock<Result<Listener, ByteStreamError>>(.failure(self.reason))
        await withCheckedContinuation { continuation in
            self.execute {
                let outcome = self.core.value?.listen(request, accept) ?? .failure(self.reason)
                result.withLock { $0 = outcome }
                continuation.resume()
            }
        }
        return try result.withLock { $0 }.get()
    }
}
