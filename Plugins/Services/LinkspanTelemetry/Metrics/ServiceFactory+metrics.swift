#if Metrics
public import CoreMetrics
public import Linkspan
public import LinkspanMessaging

extension ServiceFactory {
    /// The service `metrics`, which counts and times into a backend of swift-metrics; see ``MetricsService`` for the
    /// names.
    ///
    /// Its option is `prefix`, the prefix of every name, `linkspan` by default.
    ///
    /// - Parameter factory: where measurements go; nil for the backend of the process when the service is made.
    /// - Returns: the factory.
    public static func metrics(factory: (any MetricsFactory)? = nil) -> ServiceFactory {
        ServiceFactory("metrics", options: Self.metricsOptions) { values throws(LinkspanError) in
            MetricsService(options: try MetricsService.Options(values), factory: factory)
        }
    }

    private static let metricsOptions = [
        PluginOption("prefix", .text, fallback: "linkspan", isHot: true, "The prefix of every metric's name.")
    ]
}

extension MetricsService.Options {
    /// Reads the options that configuration has given.
    ///
    /// - Parameter values: the options, checked against their declarations.
    /// - Throws: ``/Linkspan/LinkspanError`` with code `invalidConfiguration` for a prefix that backends do not take.
    public init(_ values: OptionValues) throws(LinkspanError) {
        self.init()
        guard let prefix: String = values["prefix"] else { return }
        let isName = prefix.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "."):
                true
            default: false
            }
        }
        guard isName, let first = prefix.first, first.isLetter else {
            throw LinkspanError(
                .invalidConfiguration,
                "'prefix' must begin with a letter and hold letters, digits, '_' and '.' only")
        }
        self.prefix = prefix
    }
}

extension MetricsService: Reconfigurable {
    /// Takes over the prefix; counts under the former one stay there.
    ///
    /// - Parameter options: all of them.
    /// - Throws: ``/Linkspan/LinkspanError`` with code `invalidConfiguration`, as when the service is made.
    public func reconfigure(_ options: OptionValues) async throws {
        self.options = try Options(options)
    }
}
#else
public import LinkspanMessaging

extension ServiceFactory {
    /// The service `metrics`, which is not built in.
    @available(*, unavailable, message: "not built in: switch the trait Metrics of the package linkspan on")
    public static func metrics() -> ServiceFactory { fatalError("not built in") }
}
#endif
