import ArgumentParser
import LinkspanNetwork

/// The flag that says which library carries bytes.
struct NetworkFlag: ParsableArguments {
    @Option(help: "The library that carries bytes: libwebsockets or nio. Overrides the configuration.")
    var network: String?

    /// The library, or the usual one.
    var backEnd: NetworkBackEnd { self.network.map { NetworkBackEnd(rawValue: $0) } ?? .standard }

    func validate() throws {
        // Without `--network`, the back end's own error names the missing trait.
        if self.network != nil, let absence = self.backEnd.absence { throw ValidationError(absence) }
    }
}
