internal import LinkspanLifecycle

/// The services of a plan while they run.
struct RunningServices: Sendable {
    struct Member: Sendable {
        var planned: PlannedService
        var registration: Registration
    }

    var members: [ServiceName: Member] = [:]

    /// As they would be registered.
    var planned: [PlannedService] { self.members.values.map { $0.planned } }
}
