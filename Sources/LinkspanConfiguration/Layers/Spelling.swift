internal import Configuration

/// How the keys are spelt where they cannot have dots.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
struct Spelling: Sendable {
    /// The keys by their variables, such as `LINKSPAN_TRANSPORT_ADAPTER`.
    private(set) var variables: [String: String] = [:]
    /// The keys by their flags, such as `--linkspan-transport-adapter`.
    private(set) var flags: [String: String] = [:]
    /// Keys that cannot be told apart.
    private(set) var problems: [ConfigurationProblem] = []

    init(_ schema: Schema) {
        let environment = EnvironmentVariablesProvider(environmentVariables: [:])
        let arguments = CommandLineArgumentsProvider(arguments: [])
        for path in schema.keys.keys.sorted() {
            let key = AbsoluteConfigKey([ConfigurationPath.root] + ConfigurationPath.components(path))
            // Looking up in nothing cannot fail; it is only asked for the spelling.
            guard let variable = try? environment.value(forKey: key, type: .string).encodedKey,
                let flag = try? arguments.value(forKey: key, type: .string).encodedKey
            else { continue }
            let other = self.variables.updateValue(path, forKey: variable)
            let another = self.flags.updateValue(path, forKey: flag)
            guard let other = other ?? another else { continue }
            self.problems.append(
                ConfigurationProblem(
                    .ambiguous, ConfigurationPath.full(path),
                    "cannot be told from '\(ConfigurationPath.full(other))': both are spelt \(variable)",
                    origin: "the catalog"))
        }
    }
}
