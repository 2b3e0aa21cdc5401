/// Returns a value as the type that it is known to have.
///
/// A dynamic cast would cost as much as coding the value.
@inlinable
func sameType<Value, Result>(_ value: Value, as type: Result.Type = Result.self) -> Result {
    assert(Value.self == Result.self)
    return unsafeBitCast(value, to: type)
}
