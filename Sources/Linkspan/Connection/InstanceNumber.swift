internal import LinkspanRuntime

/// Tells a value that cannot be compared by content from all others of the process; its copies are the same instance.
struct InstanceNumber: Sendable, Hashable {
    private static let last = Lock<UInt64>(0)

    private let number: UInt64

    init() {
        self.number = Self.last.withLock { last in
            last += 1
            return last
        }
    }
}

extension InstanceNumber: CustomStringConvertible {
    var description: String { "instance \(self.number)" }
}
