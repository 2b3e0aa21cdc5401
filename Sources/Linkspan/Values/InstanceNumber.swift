internal import LinkspanRuntime

/// A number for a value that cannot be compared by content; its copies are the same instance.
struct InstanceNumber: Sendable, Hashable {
    private let number = ProcessNumber.next()
}

extension InstanceNumber: CustomStringConvertible {
    var description: String { "instance \(self.number)" }
}
