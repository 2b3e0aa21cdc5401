#if Tracing
public import Linkspan
public import LinkspanMessaging
public import Tracing

extension ServiceFactory {
    /// The service `tracing`, which makes spans of connections and messages; see ``TracingService``.
    ///
    /// Its option is `spans`, the subjects of spans: any of `connect`, `send`, `request`; all by default.
    ///
    /// - Parameter tracer: where spans go; nil for the tracer of the process when the service is made.
    /// - Returns: the factory.
    public static func tracing(tracer: (any Tracer)? = nil) -> ServiceFactory {
        ServiceFactory("tracing", options: Self.tracingOptions) { values throws(LinkspanError) in
            TracingService(options: try TracingService.Options(values), tracer: tracer)
        }
    }

    private static let tracingOptions = [
        PluginOption(
            "spans", .list, fallback: "connect, send, request", isHot: true,
            "The subjects of spans: connect, send, request.")
    ]
}

extension TracingService.Options {
    /// Reads the options that configuration has given.
    ///
    /// - Parameter values: the options, checked against their declarations.
    /// - Throws: ``/Linkspan/LinkspanError`` with code `invalidConfiguration` for an unknown subject.
    public init(_ values: OptionValues) throws(LinkspanError) {
        self.init()
        guard let names: [String] = values["spans"] else { return }
        let subjects = try names.map { name throws(LinkspanError) in
            if let subject = Subject(rawValue: name) { return subject }
            let known = Subject.allCases.map { $0.rawValue }.joined(separator: ", ")
            throw LinkspanError(
                .invalidConfiguration, "unknown subject '\(name.prefix(60))' in 'spans' (known: \(known))")
        }
        self.spans = Set(subjects)
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
