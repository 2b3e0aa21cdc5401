#if canImport(FoundationEssentials)
private import FoundationEssentials
#else
private import Foundation
#endif
internal import Linkspan
public import LinkspanMessaging

/// Turns a file, the environment and the command line into a checked plan.
///
/// ```swift
/// let loader = ConfigurationLoader(catalog: catalog)
/// let loaded = try loader.load(
///     file: "chat.yaml",
///     overrides: [
///         Override(path: "transport.adapter", value: "memory", origin: "--transport")
///     ])
/// ```
///
/// The strongest source that has a key decides it: overrides, arguments, environment, file, defaults. Lists are
/// replaced as a whole; `services.add` and `services.remove` change the list of services after that. Nothing global is
/// kept, and nothing is started.
public struct ConfigurationLoader: Sendable {
    private let catalog: Catalog
    private let schema: Schema
    private let text: TextLayers

    /// Makes a loader for the transports and services of `catalog`.
    public init(catalog: Catalog) {
        self.catalog = catalog
        self.schema = Schema(catalog)
        self.text = TextLayers(self.schema)
    }

    /// Reads, merges and checks all sources.
    ///
    /// - Parameters:
    ///   - file: the path of a `.yaml`, `.yml` or `.json` file with a section `linkspan`; nil for none.
    ///   - environment: variables such as `LINKSPAN_TRANSPORT_ADAPTER`; nil for those of the process.
    ///   - arguments: a command line, of which only arguments such as `--linkspan-transport-adapter=…` are read.
    ///   - overrides: values from flags of the app; of two for one key, the last one wins.
    ///   - defaults: defaults of the app; weaker than the file.
    /// - Returns: the plan, made and not started, with the origin of each value.
    /// - Throws: ``ConfigurationError`` with the problems of all sources.
    public func load(
        file: String? = nil, environment: [String: String]? = nil, arguments: [String] = [],
        overrides: [Override] = [], defaults: [Override] = []
    ) throws(ConfigurationError) -> LoadedPlan {
        try self.load(
            ConfigurationSources(
                file: file, environment: environment, arguments: arguments, overrides: overrides, defaults: defaults))
    }

    /// Reads, merges and checks all sources.
    ///
    /// - Parameter sources: where to look.
    /// - Returns: the plan, made and not started, with the origin of each value.
    /// - Throws: ``ConfigurationError`` with the problems of all sources.
    public func load(_ sources: ConfigurationSources) throws(ConfigurationError) -> LoadedPlan {
        try self.load(sources, sources.file.map { FileLook.Content($0) })
    }

    /// Takes the file as it was read before.
    func load(
        _ sources: ConfigurationSources, _ content: FileLook.Content?
    ) throws(ConfigurationError) -> LoadedPlan {
        let file = sources.file.flatMap { path in content.map { FileLayer.read(path, self.schema, $0) } }
        var layers = self.text.overrides(sources.overrides)
        layers.append(self.text.arguments(sources.arguments))
        layers.append(self.text.environment(sources.environment ?? ProcessInfo.processInfo.environment))
        if let file { layers.append(file) }
        if let reader = sources.reader { layers.append(self.text.reader(reader)) }
        layers += self.text.overrides(sources.defaults)
        var resolver = Resolver(self.catalog, self.schema, layers)
        let plan = resolver.plan()
        // Problems of the weakest source come first.
        var problems = self.schema.problems + self.text.problems
        for layer in layers.reversed() { problems += layer.problems }
        problems += resolver.problems
        guard problems.isEmpty, var plan else { throw ConfigurationError(problems: problems) }
        plan.content = content
        return plan
    }

    /// The problem of a key, with the nearest known name; nil for a key that may be given.
    func diagnose(_ path: String) -> ConfigurationProblem? {
        self.schema.diagnose(ConfigurationPath.withoutRoot(path)).map { wrong in
            ConfigurationProblem(.unknownName, ConfigurationPath.full(wrong.path), wrong.message)
        }
    }
}
