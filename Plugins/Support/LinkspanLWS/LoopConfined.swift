/// A value that only the loop's thread reaches, in a box that any thread may hold.
// Unchecked because the compiler cannot see which thread a C callback runs on; debug builds check it on each access.
final class LoopConfined<Value>: @unchecked Sendable {
    private var storage: Value
    private let loop: LoopIdentity

    init(_ value: Value, on loop: LoopIdentity) {
        self.storage = value
        self.loop = loop
    }

    var value: Value {
        get {
            assert(self.loop.isCurrent, "reached from outside the loop's thread")
            return self.storage
        }
        set {
            assert(self.loop.isCurrent, "reached from outside the loop's thread")
            self.storage = newValue
        }
    }
}
