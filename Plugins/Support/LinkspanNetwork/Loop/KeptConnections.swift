internal import LinkspanRuntime

/// The connections to one server that wait for the next request; lives on its loop.
///
/// A connection is kept only when the server says that it keeps it, too (RFC 9112 section 9.3), and for a second. Servers
/// close idle connections, some after two seconds, and a request that is sent at that moment is lost.
package final class KeptConnections {
    let idleLimit: Duration
    /// The ended exchanges that still have their connections.
    private var streams: [LoopStream] = []
    package private(set) var isClosed = false

    /// - Parameter idleLimit: how long a connection is kept.
    package init(idleLimit: Duration = .seconds(1)) { self.idleLimit = idleLimit }

    /// The number of connections that wait.
    package var count: Int { self.streams.count }

    /// Takes the connection that was used last.
    func take() -> (any StreamConnection)? { self.streams.popLast()?.takeKept() }

    /// Keeps the connection of a stream; false when none is kept any more.
    func keep(_ stream: LoopStream) -> Bool {
        if !self.isClosed { self.streams.append(stream) }
        return !self.isClosed
    }

    /// Forgets a stream whose connection is over.
    func forget(_ stream: LoopStream) { self.streams.removeAll { $0 === stream } }

    /// Closes the connections, and keeps no other.
    package func close() {
        self.isClosed = true
        for stream in self.streams { stream.closeKept() }
    }
}
