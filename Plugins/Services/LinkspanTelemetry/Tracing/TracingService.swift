#if Tracing
internal import LinkspanLifecycle
internal import LinkspanMessaging
internal import Tracing

/// Makes a span of each attempt to connect, after the fact; see ``ServiceFactory/tracing(tracer:)``.
actor TracingService: LifecycleService {
    /// The name in registries and configuration.
    nonisolated let name: ServiceName = "tracing"
    /// Behind other threads, since the service only observes.
    nonisolated let urgency: Urgency = .utility
    /// Among the first, so that it sees the others start.
    nonisolated let placement = Placement(phase: .core, priority: 70)

    private var book = SpanBook()
    private let tracer: any Tracer

    /// Makes the service.
    ///
    /// - Parameter tracer: where spans go; nil for the tracer of the process, as it is now.
    init(tracer: (any Tracer)? = nil) { self.tracer = tracer ?? InstrumentationSystem.tracer }
}

extension TracingService: ConnectionObserving {
    /// Makes a span of an attempt that has ended.
    func on(_ event: Stamped<ConnectionEvent>, _ scope: ServiceScope) async throws {
        guard let draft = self.book.note(event) else { return }
        // Wall time, reckoned back from the present: events know the monotonic clock alone.
        let (wall, now) = (DefaultTracerClock.now, ContinuousClock.now)
        let span = self.tracer.startSpan(
            "linkspan connect", context: .topLevel, ofKind: .client,
            at: wall.reckonedBack(by: draft.start.duration(to: now)))
        span.updateAttributes { $0.merge(draft.attributes) }
        if let error = draft.error { span.fail(error) }
        span.end(at: wall.reckonedBack(by: draft.end.duration(to: now)))
    }
}

extension Span {
    /// Marks the span as failed, by a code and without a text.
    func fail(_ code: String) {
        self.updateAttributes { $0["error.type"] = code }
        self.setStatus(SpanStatus(code: .error, message: code))
    }
}

extension DefaultTracerClock.Timestamp {
    /// The moment so long before.
    func reckonedBack(by duration: Duration) -> Self {
        let (seconds, attoseconds) = max(.zero, duration).components
        let (whole, isTooLong) = UInt64(clamping: seconds).multipliedReportingOverflow(by: 1_000_000_000)
        let back = isTooLong ? .max : whole.addingReportingOverflow(UInt64(attoseconds / 1_000_000_000)).partialValue
        return Self(nanosecondsSinceEpoch: self.nanosecondsSinceEpoch - min(back, self.nanosecondsSinceEpoch))
    }
}
#endif
