internal import LinkspanRuntime

/// An event whose emitter waits for the services that get it.
struct Barrier: Sendable {
    /// The services that have not reported yet.
    var waiting: Set<ServiceID>
    /// All services that get the event, by path.
    let paths: [ServiceID: String]
    var fates: [String: BarrierReport.Fate] = [:]
    /// Fulfilled when every service has reported.
    let done = Promise<Void>()

    init(_ paths: [ServiceID: String]) {
        self.paths = paths
        self.waiting = Set(paths.keys)
    }

    /// Notes the first report of a service.
    ///
    /// - Returns: whether it was the last one that was missing.
    mutating func note(_ id: ServiceID, _ fate: BarrierReport.Fate) -> Bool {
        guard self.waiting.remove(id) != nil, let path = self.paths[id] else { return false }
        self.fates[path] = fate
        return self.waiting.isEmpty
    }
}

/// The families of barriers that the present code is being called for.
enum BarrierContext {
    @TaskLocal static var families: Set<FamilyID> = []
}
