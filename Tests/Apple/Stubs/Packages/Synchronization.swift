// swift-format-ignore-file
// The toolchain's own, of which Linux and Apple platforms have different bodies.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
public struct Mutex<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    private let value: UnsafeMutablePointer<Value>
    public init(_ initial: consuming sending Value) {
        self.value = .allocate(capacity: 1)
        self.value.initialize(to: initial)
    }
    public borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result { fatalError() }
}
