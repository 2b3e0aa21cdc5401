internal import LinkspanRuntime

/// A connection in the pool, as a service that shows it to developers sees it.
package struct InspectedConnection: Sendable {
    /// Identifies the connection in its process; the same number as in the events about it.
    package let id: UInt64
    /// The number of its holders.
    package let holders: Int
    private let connection: PooledConnection

    fileprivate init(_ connection: PooledConnection, holders: Int) {
        self.id = connection.id
        self.holders = holders
        self.connection = connection
    }

    /// A snapshot; see ``Connection/status``.
    package var status: ConnectionStatus { self.connection.status }

    /// Reads the connection on its executor.
    ///
    /// - Parameter answer: gets the facts and the probe of the connection's observer, on the connection's executor; not
    ///   called for a connection that does not exist any more.
    package func read(_ answer: @escaping @Sendable (ConnectionReading, (any ConnectionProbe)?) -> Void) {
        let asked = self.connection.scheduler.now
        self.connection.inbox.post({ answer($0.reading(asked: asked), $0.probe) }, to: self.connection.core)
    }

    /// Provokes a fault.
    package func provoke(_ fault: ConnectionFault) {
        self.connection.inbox.post({ $0.provoke(fault) }, to: self.connection.core)
    }
}

extension ConnectionManager {
    /// The connections in the pool that the SDK made, by their numbers; those of a factory of the app's own are not
    /// among them.
    package var inspected: [InspectedConnection] {
        self.pool.withLock { $0.all }
            .compactMap { entry in
                (entry.connection as? PooledConnection).map { InspectedConnection($0, holders: entry.holders) }
            }
            .sorted { $0.id < $1.id }
    }
}

extension ConnectionStatus {
    /// The words of ``Connection/explain()``.
    package var explanation: String { self.sentences.joined(separator: " ") }
}
