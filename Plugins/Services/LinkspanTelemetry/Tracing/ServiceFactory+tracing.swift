#if Tracing
public import LinkspanMessaging
public import Tracing

extension ServiceFactory {
    /// The service `tracing`, which makes a span of each attempt to connect, after the fact, for any tracer of
    /// swift-distributed-tracing.
    ///
    /// A span is called `linkspan connect`, is of the kind `client`, lasts from the beginning of an attempt to the open connection or the
    /// end of the attempt, and begins a trace. Its attributes are `messaging.system` (`linkspan`), `linkspan.endpoint` (without query
    /// and credentials), `linkspan.attempt`, `linkspan.resumed`, `linkspan.transport`, and on failure `error.type` with the error's
    /// code. Texts of errors are in no span. ``TracingInterceptor`` makes the spans of messages.
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
