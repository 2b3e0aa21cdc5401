/// The identity of a service, group or observer, unique in the process so that it stays the same when registries are
/// nested.
struct ServiceID: Sendable, Hashable {
    private final class Token: Sendable {}

    private let token = Token()

    static func make() -> ServiceID { ServiceID() }

    static func == (left: Self, right: Self) -> Bool { left.token === right.token }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self.token)) }
}

/// A reference that does not keep its object.
struct WeakReference<Object: AnyObject & Sendable>: Sendable {
    private(set) weak var object: Object?

    init(_ object: Object?) { self.object = object }
}
