public import Linkspan
public import LinkspanLifecycle

/// A service that talks over the plan's connection, such as a feature of an app.
///
/// ```swift
/// actor Scores: ConnectionUsing {
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
public protocol ConnectionUsing: LifecycleService {
    /// Hands over the service's own handler of the connection: the place to listen, and to keep it for sending later.
    ///
    /// Called once for each connection, by ``Messaging/connect()`` before the connection is opened, so that no message of
    /// the server can be missed; for a service that is added to a connected plan, before the service starts. Another
    /// connection follows only after a log-out. The connection stays open while the service stops.
    ///
    /// One service takes it after the other, and the connection is opened when all have returned, or after the
    /// ``/LinkspanLifecycle/Budgets/start`` of one that does not. A class without an actor implements it without `async`.
    ///
    /// - Parameter connection: the handler, which need not be kept; it ends with the connection, when the service is
    ///   removed, or when the service releases it.
    /// - Throws: an error, reported as a fault of the service while the others go on. That of a service whose
    ///   ``/LinkspanLifecycle/LifecycleService/importance`` is `required` fails the connect, or the change of the plan.
    func use(_ connection: any Connection) async throws
}
