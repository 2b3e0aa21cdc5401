/// A reader of configuration that the app already has, such as a `ConfigReader` of swift-configuration.
///
/// ```swift
/// struct AppConfiguration: ConfigurationReading {
///     let reader: ConfigReader
///     let name = "app.json"
///
///     func text(_ key: String) -> String? { self.reader.string(forKey: ConfigKey(key)) }
///     func list(_ key: String) -> [String]? {
///         self.reader.stringArray(forKey: ConfigKey(key))
///     }
/// }
/// ```
///
/// ```swift
/// let sources = ConfigurationSources(reader: AppConfiguration(reader: reader))
/// let loaded = try loader.load(sources)
/// ```
///
/// It is asked for every declared key, such as `linkspan.transport.adapter`, and is weaker than a file and stronger than the
/// app's defaults. Undeclared keys are not asked for, and so not reported.
public protocol ConfigurationReading: Sendable {
    /// The name of the source, for messages and `explain`.
    var name: String { get }

    /// The text of a key; nil when it is not given.
    func text(_ key: String) -> String?

    /// The list of a key that takes a list; nil when it is not given.
    func list(_ key: String) -> [String]?
}

extension ConfigurationReading {
    /// Nil: for readers without lists, whose texts have commas.
    public func list(_ key: String) -> [String]? { nil }
}
