/// A value stored behind one reference, for large values that are shared or rarely present.
///
/// It is copied on write, so that it stays a value.
// Without the attribute nothing of it would be inlined in other modules, whatever its members say.
@usableFromInline
package struct Boxed<Value> {
    @usableFromInline
    final class Storage {
        // Only an owner that is alone changes it, so that no access meets another.
        @exclusivity(unchecked) @usableFromInline var value: Value

        @usableFromInline
        init(_ value: Value) { self.value = value }
    }

    @usableFromInline var storage: Storage

    /// Stores a value behind a reference.
    @inlinable
    package init(_ value: Value) { self.storage = Storage(value) }

    /// The value, which is read where it is.
    @inlinable package var value: Value {
        _read { yield self.storage.value }
        _modify {
            if !isKnownUniquelyReferenced(&self.storage) { self.storage = Storage(self.storage.value) }
            yield &self.storage.value
        }
    }
}

extension Boxed: Sendable where Value: Sendable {}
// Owners that share it only read it.
extension Boxed.Storage: @unchecked Sendable where Value: Sendable {}

extension Boxed: Equatable where Value: Equatable {
    @inlinable
    package static func == (left: Self, right: Self) -> Bool {
        left.storage === right.storage || left.value == right.value
    }
}

extension Boxed: Hashable where Value: Hashable {
    @inlinable
    package func hash(into hasher: inout Hasher) { self.value.hash(into: &hasher) }
}
