/// An object that is called where it is stored: a reference to it for each message would cost more than masking it.
///
/// It never calls back before it has returned, so that its owner cannot let go of it meanwhile.
// Without the attributes nothing of it would be inlined in other modules.
@usableFromInline
package struct Owned<Object>: ~Copyable {
    @usableFromInline package let object: Object

    /// Stores an object.
    @inlinable
    package init(_ object: Object) { self.object = object }
}
