/// Makes a transport from options.
public struct TransportFactory: Sendable {
    /// The name in configuration.
    package let name: String
    /// The URL schemes that the transport carries.
    package let schemes: Set<String>
    /// The options it understands, besides `url`.
    package let options: [PluginOption]
    /// Makes the transport.
    package let make: @Sendable (OptionValues) throws(LinkspanError) -> any Transport

    /// Makes a factory.
    ///
    /// - Parameters:
    ///   - name: the name in configuration, lower case letters and digits.
    ///   - schemes: the URL schemes that the transport carries.
    ///   - options: the options it understands.
    ///   - make: makes the transport from checked options; throws code `invalidConfiguration` with a sentence.
    public init(
        _ name: String, schemes: Set<String>, options: [PluginOption] = [],
        make: @escaping @Sendable (OptionValues) throws(LinkspanError) -> any Transport
    ) {
        self.name = name
        self.schemes = schemes
        self.options = options
        self.make = make
    }
}
