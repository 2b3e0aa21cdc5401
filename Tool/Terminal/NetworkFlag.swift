public import ArgumentParser
public import LinkspanNetwork

/// The flag that says which library carries bytes.
public struct NetworkFlag: ParsableArguments {
    /// The name of the library, if the flag is given.
    @Option(help: "The library that carries bytes: libwebsockets or nio. Overrides the configuration.")
    public var network: String?

    /// The library, or the usual one.
    public var backEnd: NetworkBackEnd { self.network.map { NetworkBackEnd(rawValue: $0) } ?? .standard }

    /// Flags of which none is given.
    public init() {}

    /// Refuses a library that is not built in.
    public func validate() throws {
        if let network, ![.libwebsockets, .nio].contains(self.backEnd) {
            throw ValidationError("--network has to be libwebsockets or nio, not '\(network)'")
        }
        // Without `--network`, the back end's own error names the missing trait.
        if self.network != nil, let absence = self.backEnd.absence { throw ValidationError(absence) }
    }
}
