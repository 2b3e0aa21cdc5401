/// A value that only the loop's thread reaches, in a box that any thread may hold.
// Unchecked because the compiler cannot see which thread a library's callback runs on; debug builds check it on each access.
package final class LoopConfined<Value>: @unchecked Sendable {
    private var storage: Value
    private let loop: LoopIdentity

    package init(_ value: Value, on loop: LoopIdentity) {
        self.storage = value
        self.loop = loop
    }

    package var value: Value {
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
