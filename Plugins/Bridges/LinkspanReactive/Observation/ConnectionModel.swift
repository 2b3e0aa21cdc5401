public import Linkspan
internal import LinkspanRuntime
public import Observation

/// The status of a connection as a model that views observe.
///
/// ```swift
/// @MainActor
/// final class StatusLine {
///     private let model: ConnectionModel
///
///     init(_ connection: ConnectionHandler) { self.model = ConnectionModel(connection) }
///
///     var text: String {
///         self.model.state == .connected
///             ? "Online" : "Offline, \(self.model.waitingCommands) waiting"
///     }
/// }
/// ```
///
/// It belongs to the actor in whose code it is made, such as the main actor, and changes there alone. State and progress
/// follow each change at once, the figures within an interval, and unchanged values notify no view.
///
/// The model keeps the connection. It stops following when its last reference goes.
@Observable
public final class ConnectionModel {
    /// The state.
    public private(set) var state: ConnectionState
    /// The activity inside the state.
    public private(set) var progress: ConnectionProgress
    /// Commands that wait to be sent or, for deliveries, to be answered.
    public private(set) var waitingCommands: Int
    /// The latest measured time from a question to its answer over the open link.
    public private(set) var roundTrip: Duration?
    /// The newest failure since the connection was last up.
    public private(set) var lastError: LinkspanError?

    /// The connection.
    @ObservationIgnored public let connection: any Connection
    @ObservationIgnored private let following: Following

    /// Makes a model that follows a connection.
    ///
    /// - Parameters:
    ///   - connection: the connection.
    ///   - interval: how often the figures are read; no change of them is reported.
    ///   - isolation: the actor that the model belongs to.
    public init(
        _ connection: any Connection, figuresEvery interval: Duration = .seconds(1),
        isolation: isolated any Actor = #isolation
    ) {
        let status = connection.status
        self.connection = connection
        self.state = status.state
        self.progress = status.progress
        self.waitingCommands = status.waitingCommands
        self.roundTrip = status.link?.roundTrip
        self.lastError = status.lastError
        let (changes, following) = Following.begin(connection, interval)
        self.following = following
        Reference(model: self, actor: isolation).follow(changes)
    }

    /// A weak reference to a model, for use on its actor.
    ///
    /// It retains neither model nor actor: the actor may own the model.
    private struct Reference: Sendable {
        nonisolated(unsafe) weak var model: ConnectionModel?
        weak var actor: (any Actor)?

        func follow(_ changes: AsyncStream<Void>) {
            // No parent can own this task: the model follows as long as it lives, not as long as its maker.
            Task {
                for await _ in changes {
                    guard let actor = self.actor else { return }
                    await self.refresh(on: actor)
                }
            }
        }

        private func refresh(on actor: isolated any Actor) { self.model?.refresh() }
    }

    deinit { self.following.end() }

    /// Assigns the values that have changed: assigning equal ones would notify views.
    private func refresh() {
        let status = self.connection.status
        if self.state != status.state { self.state = status.state }
        if self.progress != status.progress { self.progress = status.progress }
        if self.waitingCommands != status.waitingCommands { self.waitingCommands = status.waitingCommands }
        if self.roundTrip != status.link?.roundTrip { self.roundTrip = status.link?.roundTrip }
        if self.lastError?.description != status.lastError?.description { self.lastError = status.lastError }
    }
}
