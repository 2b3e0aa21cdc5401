package import Linkspan

/// A value of the configuration, as it may be shown: secrets and queries of URLs are left out.
package struct InspectedSetting: Sendable, Hashable, Encodable {
    /// The full key.
    package var path: String
    /// The value as text.
    package var value: String
    /// The file and line, the variable or the flag that it came from, or `default`.
    package var origin: String

    /// Makes a setting.
    package init(path: String, value: String, origin: String) {
        self.path = path
        self.value = value
        self.origin = origin
    }
}

/// A transport to the plan's server.
package struct TransportAlternative: Sendable {
    /// The name of the transport.
    package var name: String
    /// The endpoint.
    package var url: String
    /// The transport.
    package var transport: any Transport

    /// Makes an alternative.
    package init(name: String, url: String, transport: any Transport) {
        self.name = name
        self.url = url
        self.transport = transport
    }
}
