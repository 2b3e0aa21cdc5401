internal import Linkspan
public import LinkspanMessaging
public import Logging

extension ServiceFactory {
    /// The service `logging`, which writes events of connections, services and credentials to `logger`.
    ///
    /// Every line is a fixed sentence with metadata, so that lines can be counted and searched. Payloads, credentials,
    /// queries of URLs and names of users are never written.
    ///
    /// Its options are `level`, the lowest level that is written, `info` by default; and `families`, the families to
    /// log: any of `connection`, `fault`, `registry`, `authentication`, `buffer`; the first three by default.
    public static func logging(logger: Logger = Logger(label: "linkspan")) -> ServiceFactory {
        ServiceFactory(
            "logging",
            options: [
                PluginOption(
                    "level", .choice(Logger.Level.allCases.map { $0.rawValue }), fallback: "info", isHot: true,
                    "The lowest level that is written."),
                PluginOption(
                    "families", .list, fallback: "connection, fault, registry", isHot: true,
                    "The families to log: connection, fault, registry, authentication, buffer."),
            ]
        ) { values throws(LinkspanError) in
            let (level, families) = try LoggingService.settings(values)
            return LoggingService(logger: logger, level: level, families: families)
        } reconfigure: {
            try await $0.reconfigure($1)
        }
    }
}

extension LoggingService {
    /// The settings by the options, or the usual ones without them.
    static func settings(
        _ options: OptionValues
    ) throws(LinkspanError) -> (level: Logger.Level, families: Set<Family>) {
        (
            options["level"] as Logger.Level? ?? .info,
            try Self.families(options["families"] as [String]?)
        )
    }

    private static func families(
        _ names: [String]?
    ) throws(LinkspanError) -> Set<Family> {
        guard let names else { return Family.standard }
        let families = try names.map { name throws(LinkspanError) in
            if let family = Family(rawValue: name) { return family }
            let known = Family.allCases.map { $0.rawValue }.joined(separator: ", ")
            throw LinkspanError(
                .invalidConfiguration, "unknown family '\(name.prefix(60))' in 'families' (known: \(known))")
        }
        return Set(families)
    }
}
