internal import LinkspanRuntime

/// The names that are taken, once among siblings, and the origins of their registrations.
struct TakenNames: Sendable {
    private struct Place: Sendable, Hashable {
        let group: ServiceID?
        let name: ServiceName
    }

    private var origins: [Place: String] = [:]

    /// Takes a name in a group; returns the origin of the registration that has it already, if there is one.
    mutating func take(_ name: ServiceName, in group: ServiceID?, by origin: String) -> String? {
        assert(Growth.step())
        let place = Place(group: group, name: name)
        if let other = self.origins[place] { return other }
        self.origins[place] = origin
        return nil
    }

    mutating func release(_ name: ServiceName, in group: ServiceID?) {
        self.origins[Place(group: group, name: name)] = nil
    }
}
