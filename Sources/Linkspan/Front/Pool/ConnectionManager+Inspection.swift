internal import LinkspanRuntime

/// A connection that shows its inside, as the SDK's own do.
protocol InspectableConnection: AnyObject, Sendable {
    var id: UInt64 { get }
    /// See ``InspectedConnection/read(_:)``.
    func read(_ answer: @escaping @Sendable (ConnectionReading, (any ConnectionProbe)?) -> Void)
    func provoke(_ fault: ConnectionFault)
}

extension PooledConnection: InspectableConnection {
    func read(_ answer: @escaping @Sendable (ConnectionReading, (any ConnectionProbe)?) -> Void) {
        let asked = self.scheduler.moment
        self.inbox.post({ answer($0.reading(asked: asked), $0.probe) }, to: self.core)
    }

    func provoke(_ fault: ConnectionFault) { self.inbox.post({ $0.provoke(fault) }, to: self.core) }
}

/// A connection in the pool, as a service that shows it to developers sees it.
///
/// Of a connection that the app's own ``ConnectionFactory`` made there is the snapshot, and nothing of its inside.
package struct InspectedConnection: Sendable {
    /// Identifies the connection in its process; the same number as in the events about it.
    ///
    /// A connection of an app's own factory has no events; its number is its place among the connections of the manager.
    package let id: UInt64
    /// The number of its holders.
    package let holders: Int
    /// Whether the SDK made the connection, and not a factory of the app's own.
    package var isOwn: Bool { self.inspectable != nil }

    private let connection: any ManagedConnection
    private let inspectable: (any InspectableConnection)?

    fileprivate init(_ entry: ConnectionPool.Entry) {
        self.connection = entry.connection
        self.inspectable = entry.connection as? any InspectableConnection
        self.id = self.inspectable?.id ?? entry.number
        self.holders = entry.holders
    }

    /// A snapshot; see ``Connection/status``.
    package var status: ConnectionStatus { self.connection.status }

    /// Reads the connection on its executor.
    ///
    /// - Parameter answer: gets the facts and the probe of the connection's observer, on the connection's executor; not
    ///   called for a connection that does not exist any more.
    /// - Returns: false for a connection that the SDK did not make, which cannot be read.
    package func read(_ answer: @escaping @Sendable (ConnectionReading, (any ConnectionProbe)?) -> Void) -> Bool {
        self.inspectable?.read(answer)
        return self.isOwn
    }

    /// Provokes a fault.
    ///
    /// - Returns: false for a connection that the SDK did not make, which has no faults to provoke.
    package func provoke(_ fault: ConnectionFault) -> Bool {
        self.inspectable?.provoke(fault)
        return self.isOwn
    }
}

extension ConnectionManager {
    /// The connections in the pool, by their numbers.
    package var inspected: [InspectedConnection] {
        self.pool.withLock { $0.all }.map { InspectedConnection($0) }.sorted { $0.id < $1.id }
    }
}

extension ConnectionStatus {
    /// The words of ``Connection/explain()``.
    package var explanation: String { self.sentences.joined(separator: " ") }
}
