/// The identity of a service, group or observer, unique in the process so that it stays the same when registries are
/// nested.
struct ServiceID: Sendable, Hashable {
    private final class Token: Sendable {}

    private let token = Token()

    static func make() -> ServiceID { ServiceID() }

    static func == (left: Self, right: Self) -> Bool { left.token === right.token }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self.token)) }
}
