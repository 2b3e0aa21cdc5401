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
    /// Called once for each connection, by ``Messaging/connect()`` before the connection is opened, so that no message of
    /// the server can be missed; for a service that is added to a connected plan, before the service starts. Another
    /// connection follows only after a log-out. The connection stays open while the service stops.
    ///
    /// - Parameter connection: the handler, which need not be kept; it ends with the connection, when the service is
    ///   removed, or when the service releases it.
    /// - Throws: ``/Linkspan/LinkspanError``, which fails the connect.
    func use(_ connection: any Connection) throws(LinkspanError)
}

/// A service that takes the plan's connection asynchronously, such as an actor.
///
/// ```swift
/// actor Scores: AsyncConnectionUsing {
///     let name: ServiceName = "scores"
///     private var latest: [String: Int] = [:]
///     private var reading: Task<Void, Never>?
///
///     func use(_ connection: any Connection) throws {
///         let scores = try connection.values("score", as: Score.self)
///         self.reading = Task {
///             for await score in scores {
///                 guard let score = try? score.get() else { continue }
///                 self.latest[score.player] = score.points
///             }
///         }
///     }
/// }
/// ```
public protocol AsyncConnectionUsing: LifecycleService {
    /// Hands over the service's own handler of the connection; see ``ConnectionUsing/use(_:)``.
    ///
    /// The connection is opened when all such services have returned, or after the ``/LinkspanLifecycle/Budgets/start`` of one that
    /// does not. One that throws is reported as a fault of the service, and the others go on.
    ///
    /// - Parameter connection: the handler, which need not be kept.
    /// - Throws: an error for the fault.
    func use(_ connection: any Connection) async throws
}
