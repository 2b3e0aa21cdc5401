#if Tracing
public import LinkspanMessaging
public import Tracing

extension ServiceFactory {
    /// The service `tracing`, which makes spans of attempts to connect; see ``TracingService``.
    ///
    /// - Parameter tracer: where spans go; nil for the tracer of the process when the service is made.
    /// - Returns: the factory.
    public static func tracing(tracer: (any Tracer)? = nil) -> ServiceFactory {
        ServiceFactory("tracing") { _ in TracingService(tracer: tracer) }
    }
}
#else
public import LinkspanMessaging

extension ServiceFactory {
    /// The service `tracing`, which is not built in.
    @available(*, unavailable, message: "not built in: switch the trait Tracing of the package linkspan on")
    public static func tracing() -> ServiceFactory { fatalError("not built in") }
}
#endif
