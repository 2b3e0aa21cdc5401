public import Linkspan
public import Logging

extension ServiceFactory {
    /// The service `logging`, which writes to `logger`.
    ///
    /// Its options are `level`, the lowest level that is written, `info` by default; and `families`, what is written:
    /// any of `connection`, `fault`, `registry`, `authentication`, `buffer`; the first three by default.
    public static func logging(logger: Logger = Logger(label: "linkspan")) -> ServiceFactory {
        ServiceFactory("logging", options: Self.loggingOptions) { values throws(LinkspanError) in
            LoggingService(
                logger: logger, level: values.text("level").flatMap(Logger.Level.init(rawValue:)) ?? .info,
                families: try Self.families(values.list("families")))
        }
    }

    private static let loggingOptions = [
        PluginOption(
            "level", .choice(Logger.Level.allCases.map { $0.rawValue }), fallback: "info",
            "The lowest level that is written."),
        PluginOption(
            "families", .list, fallback: "connection, fault, registry",
            "What is written: connection, fault, registry, authentication, buffer."),
    ]

    private static func families(
        _ names: [String]?
    ) throws(LinkspanError) -> Set<LoggingService.Family> {
        guard let names else { return LoggingService.Family.standard }
        var families: Set<LoggingService.Family> = []
        for name in names {
            guard let family = LoggingService.Family(rawValue: name) else {
                let known = LoggingService.Family.allCases.map { $0.rawValue }.joined(separator: ", ")
                throw LinkspanError(
                    .invalidConfiguration, "unknown family '\(name.prefix(60))' in 'families' (known: \(known))")
            }
            families.insert(family)
        }
        return families
    }
}
