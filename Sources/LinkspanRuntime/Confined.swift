/// State that lives on one executor and is reached there only.
///
/// Any thread may hold the box and pass it on. Debug builds check each access; release builds trust the caller.
public final class Confined<Value: ~Copyable>: @unchecked Sendable {
    // Unchecked because the compiler cannot see on which executor a caller is. Without the attribute each access in place
    // costs a call of the runtime.
    @exclusivity(unchecked) @usableFromInline var storage: Value
    @usableFromInline let place: any ExecutionPlace

    /// Confines `value` to an executor.
    @inlinable
    public init(_ value: consuming Value, to place: any ExecutionPlace) {
        self.storage = value
        self.place = place
    }

    /// The state, for callers on the executor.
    @inlinable
    public var value: Value {
        _read {
            assert(self.place.isCurrent, "reached from outside the executor that it is confined to")
            yield self.storage
        }
        _modify {
            assert(self.place.isCurrent, "reached from outside the executor that it is confined to")
            yield &self.storage
        }
    }
}
