internal import LinkspanLifecycle

/// A service with its faults.
struct ServiceRow: Sendable, Equatable, Encodable {
    let service: InspectedService
    let faults: Int
    /// Calls that took longer than the service's budget.
    let slow: Int

    private enum Key: CodingKey { case path, phase, priority, state, origin, faults, slow }

    /// Writes one object with the members of the mailbox, too.
    func encode(to encoder: any Encoder) throws {
        var row = encoder.container(keyedBy: Key.self)
        try row.encode(self.service.path, forKey: .path)
        try row.encode(self.phaseName, forKey: .phase)
        try row.encode(self.service.priority, forKey: .priority)
        try row.encode(self.stateName, forKey: .state)
        try row.encode(self.service.origin, forKey: .origin)
        try self.service.mailbox.encode(to: encoder)
        try row.encode(self.faults, forKey: .faults)
        try row.encode(self.slow, forKey: .slow)
    }

    /// The name of the state, without the text of a service's error.
    private var stateName: String { String("\(self.service.state)".prefix { $0 != "(" }) }

    private var phaseName: String {
        guard let phase = self.service.phase else { return "feature" }
        let names: [Int: String] = [
            Placement.Phase.core.rawValue: "core", Placement.Phase.storage.rawValue: "storage",
            Placement.Phase.authentication.rawValue: "authentication",
            Placement.Phase.transport.rawValue: "transport", Placement.Phase.feature.rawValue: "feature",
            Placement.Phase.observer.rawValue: "observer",
        ]
        return names[phase] ?? "\(phase)"
    }
}
