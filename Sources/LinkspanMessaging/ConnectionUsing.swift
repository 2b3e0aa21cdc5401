public import Linkspan
public import LinkspanLifecycle

/// A service that talks over the plan's connection, such as a feature of an app.
///
/// ```swift
/// final class Presence: ConnectionUsing {
///     let name: ServiceName = "presence"
///
///     func use(_ connection: any Connection) throws(LinkspanError) {
///         try connection.on("joined", as: String.self) { member in print(member) }
///     }
/// }
/// ```
public protocol ConnectionUsing: LifecycleService {
    /// Hands over the service's own handler of the connection: the place to listen, and to keep it for sending later.
    ///
    /// Called once, by ``Messaging/connect()`` before the connection is opened, so that no message of the server can be
    /// missed; for a service that is added to a connected plan, before the service starts. The connection stays open
    /// while the service stops.
    ///
    /// - Parameter connection: the handler; it ends with the connection, or when the service releases it.
    /// - Throws: ``/Linkspan/LinkspanError``, which fails the connect.
    func use(_ connection: any Connection) throws(LinkspanError)
}
