internal import LinkspanRuntime

/// A number for a service or group, unique in the process so that it stays the same when registries are nested.
struct ServiceID: Sendable, Hashable {
    private static let last = Lock<UInt64>(0)

    let number: UInt64

    static func make() -> ServiceID {
        ServiceID(
            number: Self.last.withLock { last in
                last += 1
                return last
            })
    }
}

/// A reference that does not keep its object.
struct WeakReference<Object: AnyObject & Sendable>: Sendable {
    private(set) weak var object: Object?

    init(_ object: Object?) { self.object = object }
}
