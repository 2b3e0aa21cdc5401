// swift-format-ignore-file
// swift-service-lifecycle.
public protocol Service: Sendable {
    func run() async throws
}
public func cancelWhenGracefulShutdown<T: Sendable>(
    _ operation: @Sendable @escaping () async throws -> T, isolation: isolated (any Actor)? = #isolation
) async rethrows -> T { try await operation() }
public func gracefulShutdown() async throws {}
extension Task where Success == Never, Failure == Never {
    public static var isShuttingDownGracefully: Bool { false }
}
