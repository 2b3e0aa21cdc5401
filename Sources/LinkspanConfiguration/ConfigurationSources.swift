/// The sources of a configuration; for each key the strongest one wins: overrides, arguments, environment, file,
/// defaults.
public struct ConfigurationSources: Sendable {
    /// The path of a `.yaml`, `.yml` or `.json` file with a section `linkspan`; nil for none.
    public var file: String?
    /// Variables such as `LINKSPAN_TRANSPORT_ADAPTER`; nil for those of the process.
    public var environment: [String: String]?
    /// A command line, of which only arguments such as `--linkspan-transport-adapter=…` are read.
    public var arguments: [String]
    /// Values from flags of the app; of two for one key, the last one wins.
    public var overrides: [Override]
    /// The reader that the app has for its own configuration; weaker than the file.
    public var reader: (any ConfigurationReading)?
    /// Defaults of the app; the weakest.
    public var defaults: [Override]

    /// Makes sources; every part may be left out.
    public init(
        file: String? = nil, environment: [String: String]? = nil, arguments: [String] = [],
        overrides: [Override] = [], reader: (any ConfigurationReading)? = nil, defaults: [Override] = []
    ) {
        self.reader = reader
        self.file = file
        self.environment = environment
        self.arguments = arguments
        self.overrides = overrides
        self.defaults = defaults
    }
}
