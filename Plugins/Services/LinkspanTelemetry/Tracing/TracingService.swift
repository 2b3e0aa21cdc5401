#if Tracing
public import Linkspan
public import LinkspanLifecycle
public import LinkspanMessaging
public import Tracing

// An actor for options and open spans: the registry's calls of handlers contend with reconfiguration.
/// A service that makes spans from lifecycle events, after the fact, for any tracer of swift-distributed-tracing.
///
/// | span | from | to | error |
/// | --- | --- | --- | --- |
/// | `linkspan connect` | the beginning of an attempt | the open connection, or the end of the attempt | the code of the failure |
/// | `linkspan send` | when the link took a message | the same | `expired`, `dropped` for one that was dropped |
/// | `linkspan request` | a round trip before the confirmation | the confirmation | `timedOut` |
///
/// All are of the kind `client` and begin a trace, because events do not carry the caller's context. Where that
/// matters, give the connection a ``TracingInterceptor`` and leave `send` and `request` out here.
///
/// Attributes are `messaging.system` (`linkspan`), `messaging.destination.name` (the name of the event),
/// `messaging.message.body.size`, `linkspan.endpoint` (without query and credentials), `linkspan.attempt`,
/// `linkspan.resumed`, `linkspan.transport`, and `error.type` on failure. Payloads and texts of errors are in no span.
public actor TracingService: LifecycleService {
    /// The name in registries and configuration.
    public nonisolated let name: ServiceName = "tracing"
    /// Behind other threads, since the service only observes.
    public nonisolated let urgency: Urgency = .utility
    /// Among the first, so that it sees the others start.
    public nonisolated let placement = Placement(phase: .core, priority: 70)

    /// The options.
    public private(set) var options: Options
    private var book = SpanBook()
    private let tracer: any Tracer

    /// Options of the service.
    public struct Options: Sendable, Hashable {
        /// The subjects that get spans.
        ///
        /// Default: everything.
        public var spans: Set<Subject>

        /// Makes options; the defaults are those named at the properties.
        public init(spans: Set<Subject> = Set(Subject.allCases)) { self.spans = spans }

        /// The subject of a span.
        public typealias Subject = SpanSubject
    }

    /// Makes the service.
    ///
    /// - Parameters:
    ///   - options: the options.
    ///   - tracer: where spans go; nil for the tracer of the process, as it is now.
    public init(options: Options = Options(), tracer: (any Tracer)? = nil) {
        self.tracer = tracer ?? InstrumentationSystem.tracer
        self.options = options
    }

    private func make(_ draft: SpanDraft?) {
        guard let draft, self.options.spans.contains(draft.subject) else { return }
        // Wall time, reckoned back from the present: events know the monotonic clock alone.
        let (wall, now) = (DefaultTracerClock.now, ContinuousClock.now)
        let span = self.tracer.startSpan(
            "linkspan \(draft.subject.rawValue)", context: .topLevel, ofKind: .client,
            at: wall.reckonedBack(by: draft.start.duration(to: now)))
        span.updateAttributes { $0.merge(draft.attributes) }
        if let error = draft.error { span.fail(error) }
        span.end(at: wall.reckonedBack(by: draft.end.duration(to: now)))
    }
}

extension TracingService: Reconfigurable {
    /// Takes over the subjects of spans.
    ///
    /// - Parameter options: all of them.
    /// - Throws: ``/Linkspan/LinkspanError`` with code `invalidConfiguration`, as when the service is made.
    public func reconfigure(_ options: OptionValues) async throws { self.options = try Options(options) }
}

extension TracingService: ConnectionObserving, MessageObserving {
    /// Makes a span of an attempt that has ended.
    public func on(_ event: Stamped<ConnectionEvent>, _ scope: ServiceScope) async throws {
        self.make(self.book.note(event))
    }

    /// Makes a span of a message from its outcome.
    public func on(_ event: Stamped<MessageEvent>, _ scope: ServiceScope) async throws {
        self.make(self.book.note(event))
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
