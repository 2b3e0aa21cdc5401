/// Tells a value that cannot be compared by content from all others of the process; its copies are the same instance.
struct InstanceNumber: Sendable, Hashable {
    private let number: UInt64

    // The number of a command serves: it is unique in the process.
    init() { self.number = Command.ID.next().number }
}

extension InstanceNumber: CustomStringConvertible {
    var description: String { "instance \(self.number)" }
}
