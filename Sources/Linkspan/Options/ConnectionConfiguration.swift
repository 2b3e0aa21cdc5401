internal import LinkspanRuntime

/// Everything that is needed to connect.
///
/// Made by ``ConnectionBuilder``, so that it is always complete.
public struct ConnectionConfiguration: Sendable {
    private struct Parts: Sendable {
        let url: ConnectionURL
        let transport: any Transport
        let endpoint: String
        var options: Boxed<ConnectionOptions>
        let resumption: Secret?
        let identity: ConnectionIdentity
    }

    /// By reference, because the connection and its key in the pool share it.
    private var parts: Boxed<Parts>

    /// The endpoint.
    public var url: ConnectionURL { self.parts.value.url }
    /// The transport that carries the traffic.
    package var transport: any Transport { self.parts.value.transport }
    /// The other part of the endpoint's identity; see ``Transport/endpoint``.
    var endpoint: String { self.parts.value.endpoint }
    /// The behaviour of the connection.
    package var options: ConnectionOptions { self.sharedOptions.value }
    var sharedOptions: Boxed<ConnectionOptions> {
        get { self.parts.value.options }
        set { self.parts.value.options = newValue }
    }
    /// The source of the credentials.
    package var credentials: CredentialSource { self.identity.source }
    /// A token with which a new connection resumes the session of a former process; ignored by one that is in the pool
    /// already.
    var resumption: Secret? { self.parts.value.resumption }
    /// The identity that the connection has at the server; together with the URL, the key of the pool.
    package var identity: ConnectionIdentity { self.parts.value.identity }

    init(
        url: ConnectionURL, transport: any Transport, options: Boxed<ConnectionOptions>, credentials: CredentialSource,
        resumption: Secret? = nil
    ) {
        self.parts = Boxed(
            Parts(
                url: url, transport: transport, endpoint: transport.endpoint, options: options, resumption: resumption,
                identity: ConnectionIdentity(credentials, settings: transport.identity)))
    }

    /// The options by name, for comparing two configurations.
    var described: [String: String] {
        var described = self.options.described
        described["transport"] = "\(self.transport.name) (\(type(of: self.transport)))"
        for (name, value) in self.transport.options { described["\(self.transport.name).\(name)"] = value }
        return described
    }
}
