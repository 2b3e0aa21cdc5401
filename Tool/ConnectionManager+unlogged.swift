import Linkspan
import Logging

@available(macOS 15, *)
extension ConnectionManager {
    /// Logs nothing, because the command tells in its own words what becomes of its connection.
    static var unlogged: ConnectionManager { ConnectionManager(options: .init { $0.logger.logLevel = .critical }) }
}
