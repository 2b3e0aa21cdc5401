/// Turns configurations into connections, for the pool.
protocol ConnectionFactory: Sendable {
    /// Makes a connection that has not begun to connect.
    func makeConnection(_ configuration: ConnectionConfiguration) -> PooledConnection
}

struct PooledConnectionFactory: ConnectionFactory {
    let environment: ConnectionEnvironment

    func makeConnection(_ configuration: ConnectionConfiguration) -> PooledConnection {
        // The number of a command serves: it is unique in the process, and there are few connections.
        PooledConnection(id: Command.ID.next().number, configuration: configuration, environment: self.environment)
    }
}
