/// Makes connections for the pool.
public protocol ConnectionFactory: Sendable {
    /// Makes a connection that has not begun to connect.
    func makeConnection(_ configuration: ConnectionConfiguration) -> any ManagedConnection
}

/// Makes the SDK's own connections.
struct PooledConnectionFactory: ConnectionFactory {
    let environment: ConnectionEnvironment

    func makeConnection(_ configuration: ConnectionConfiguration) -> any ManagedConnection {
        // The number of a command serves: it is unique in the process, and there are few connections.
        PooledConnection(id: Command.ID.next().number, configuration: configuration, environment: self.environment)
    }
}
