public import Linkspan
public import LinkspanMessaging

extension ServiceFactory {
    /// The service `inspector`, which shows what the SDK does in a browser; see ``InspectorService``.
    ///
    /// Its options are `port`, any free one by default; `faults`, whether the page can provoke faults, and `payloads`,
    /// whether it shows the beginnings of payloads, both off by default; and `token`, for programs.
    public static let inspector = Self.inspector(announce: InspectorService.printURL)

    /// The service `inspector` with an announcement of its URL of the app's own.
    ///
    /// - Parameter announce: gets the URL that opens the page, and another one when somebody asks for the page after that was
    ///   used or ten minutes have passed.
    /// - Returns: the factory.
    public static func inspector(announce: @escaping @Sendable (String) -> Void) -> ServiceFactory {
        ServiceFactory(
            "inspector",
            options: [
                PluginOption("port", default: 0, in: 0...65_535, "The port at 127.0.0.1; 0 for any that is free."),
                PluginOption(
                    "faults", default: false, "Whether the page can provoke faults, such as a dropped link."),
                PluginOption("payloads", default: false, "Whether the beginnings of payloads are shown."),
                PluginOption(
                    "token", .text, fallback: "none", isSecret: true,
                    "A token of at least 16 bytes that programs show to read the snapshot."),
            ]
        ) { values throws(LinkspanError) in
            let options = InspectorService.Options(values)
            if let token = options.token, token.utf8.count < 16 {
                throw LinkspanError(.invalidConfiguration, "token needs at least 16 bytes")
            }
            return InspectorService(options: options, announce: announce)
        }
    }
}

extension InspectorService.Options {
    /// Reads the options that configuration has given.
    ///
    /// - Parameter values: the options, checked against their declarations.
    public init(_ values: OptionValues) {
        self.init()
        if let port: Int = values["port"] { self.port = port }
        if let allowsFaults: Bool = values["faults"] { self.allowsFaults = allowsFaults }
        if let showsPayloads: Bool = values["payloads"] { self.showsPayloads = showsPayloads }
        if let token: String = values["token"] { self.token = token }
    }
}
