package import LinkspanRuntime

/// A back end for streams of bytes: an event loop that dials and listens.
///
/// It is an executor: everything that begins here, up to a connection's listeners, lives on it, and its methods are
/// called on it. Handlers of events are called later, never from inside one of these calls or of a stream's.
///
/// A back end does names, TCP, proxies, TLS and HTTP/1.1. It verifies servers as ``TLSPolicy`` says before it sends a
/// byte of a request, never follows a redirect, keeps the request's deadline, and ends every attempt with one
/// ``ByteStreamError``.
package protocol NetworkLoop: JobExecutor {
    /// The time by which what is on the loop judges how old something is; a loop of a test has its own.
    var moment: Moment { get }

    /// Begins to send a request; its stream is open once the answer allows it.
    ///
    /// An upgrade is open with status 101, after which the stream carries what follows in both directions; the handler
    /// judges the rest of the head. A GET or POST is open with any status, and the stream carries the answer's body,
    /// then ends with code `completed`. What is written before is kept: of a POST it is the body.
    ///
    /// - Parameters:
    ///   - request: what is sent, and where to.
    ///   - handler: hears what becomes of it.
    ///   - kept: the connections to the same server that it may use, and leaves its own to; nil for none.
    /// - Returns: the stream. Handler and stream live until ``ByteStreamHandler/closed(_:)``, even if nobody else holds
    ///   them.
    func connect(
        _ request: StreamRequest, handler: any ByteStreamHandler, over kept: KeptConnections?
    ) -> any ByteStream

    /// Listens until the listener is closed or the loop ends; the loop holds the listener.
    ///
    /// No TLS: for servers on the loopback, which tests and samples talk to.
    ///
    /// - Parameters:
    ///   - request: where.
    ///   - accept: decides about a connection that has come in: the handler of its stream, or nil to drop it. The
    ///     stream is open already, so ``ByteStreamHandler/opened(_:)`` is not called.
    /// - Returns: the listener, to close it.
    /// - Throws: ``ByteStreamError`` with code `unlistenable`, or `loopStopped`.
    func listen(
        _ request: ListenRequest, accept: @escaping (any ByteStream) -> (any ByteStreamHandler)?
    ) throws(ByteStreamError) -> any ByteListener

    /// Ends every stream with `loopStopped`, then the loop; returns when it has ended. From any thread.
    ///
    /// Called on the loop it returns at once, and the loop ends after the current job. May be called again.
    func shutdown()
}

extension NetworkLoop {
    /// The time of the system, as all loops of networks have it.
    package var moment: Moment { .now }

    /// Begins to send a request over a connection of its own.
    package func connect(_ request: StreamRequest, handler: any ByteStreamHandler) -> any ByteStream {
        self.connect(request, handler: handler, over: nil)
    }
}

/// The parameters of a listener.
package struct ListenRequest: Sendable, Hashable {
    /// The numeric address of an interface.
    package var address: String
    /// The port; 0 for any that is free.
    package var port: Int
    /// The path of a Unix-domain socket, in place of address and port; nil for none.
    ///
    /// Nothing may exist there. The file is removed when the listener is closed.
    package var path: String?
    /// Makes a request.
    package init(address: String = "127.0.0.1", port: Int = 0, path: String? = nil) {
        self.address = address
        self.port = port
        self.path = path
    }
}

extension ListenRequest {
    /// The number of connections that may wait to be accepted.
    package static let backlog: CInt = 128

    /// Checks the port and the path.
    ///
    /// Throws `unlistenable` for a port outside 0...65535 and for a path that no socket can have.
    package func validated() throws(ByteStreamError) {
        guard (0...65_535).contains(self.port) else {
            throw ByteStreamError(.unlistenable, "\(self.port) is not a port")
        }
        guard let path = self.path, let problem = StreamRequest.problem(withSocketPath: path, proxy: nil) else {
            return
        }
        throw ByteStreamError(.unlistenable, problem)
    }

    /// The error for a place that the system refuses.
    ///
    /// - Parameters:
    ///   - problem: the system's reason.
    ///   - isTaken: whether something is there already.
    /// - Returns: an error with code `unlistenable`.
    package func unavailable(_ problem: String, isTaken: Bool) -> ByteStreamError {
        let place = self.path ?? "port \(self.port) of \(self.address)"
        // A server that was killed leaves its file.
        let advice = isTaken && self.path != nil ? "; remove the file if no server uses it" : ""
        return ByteStreamError(.unlistenable, "\(place) is not available: \(problem)\(advice)")
    }
}

/// A port at which a loop accepts streams of bytes.
package protocol ByteListener: AnyObject {
    /// The port; 0 at a path.
    var port: Int { get }

    /// Gives the port up, and calls `onClosed` when it is free. Accepted streams go on. May be called again.
    func close(_ onClosed: @escaping () -> Void)
}

extension NetworkLoop {
    /// Runs a closure on the loop for a caller elsewhere, and returns its result.
    package func perform<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        // By way of a lock: the thread sanitizer does not see what a continuation hands over from a foreign thread.
        let result = Lock<Result?>(nil)
        while true {
            await withCheckedContinuation { continuation in
                self.execute {
                    let given = body()
                    result.withLock { $0 = given }
                    continuation.resume()
                }
            }
            if let result = result.withLock({ $0 }) { return result }
        }
    }
}
