internal import LinkspanRuntime

/// Tells a value that cannot be compared by content from all others of the process; its copies are the same instance.
struct InstanceNumber: Sendable, Hashable {
    private let number = ProcessNumber.next()
}

extension InstanceNumber: CustomStringConvertible {
    var description: String { "instance \(self.number)" }
}
