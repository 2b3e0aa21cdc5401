public import ArgumentParser
public import LinkspanConfiguration

/// The flags of an app's command line that select its configuration, for ``ConfigurationCommand``.
public protocol ConfigurationFlags: ParsableArguments {
    /// The loader with the app's transports and services.
    var loader: ConfigurationLoader { get }

    /// The sources that the flags name.
    var sources: ConfigurationSources { get }
}

extension ConfigurationFlags {
    /// Reads the configuration, starting nothing.
    ///
    /// - Returns: the plan.
    /// - Throws: the exit with status 64, after all problems were printed.
    public func load() throws -> LoadedPlan {
        do throws(ConfigurationError) {
            return try self.loader.load(self.sources)
        } catch {
            for line in error.description.split(separator: "\n") { Output.complain(String(line)) }
            throw ExitCode.validationFailure
        }
    }
}
