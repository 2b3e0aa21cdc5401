internal import LinkspanRuntime

/// Everything that is needed to connect.
///
/// Made by ``ConnectionBuilder``, so that it is always complete.
public struct ConnectionConfiguration: Sendable {
    /// The endpoint.
    public let url: ConnectionURL
    /// The transport that carries the traffic.
    package let transport: any Transport
    /// The behaviour of the connection.
    package var options: ConnectionOptions { self.sharedOptions.value }
    var sharedOptions: Boxed<ConnectionOptions>
    /// The source of the credentials.
    package var credentials: CredentialSource { self.identity.source }
    /// A token with which a new connection resumes the session of a former process; ignored by one that is in the pool
    /// already.
    let resumption: Secret?
    /// The identity that the connection has at the server; together with the URL, the key of the pool.
    package let identity: ConnectionIdentity

    init(
        url: ConnectionURL, transport: any Transport, options: Boxed<ConnectionOptions>, credentials: CredentialSource,
        resumption: Secret? = nil
    ) {
        self.resumption = resumption
        self.url = url
        self.transport = transport
        self.sharedOptions = options
        self.identity = ConnectionIdentity(credentials, settings: transport.identity)
    }

    /// The options by name, for comparing two configurations.
    var described: [String: String] {
        var described = self.options.described
        described["transport"] = "\(self.transport.name) (\(type(of: self.transport)))"
        for (name, value) in self.transport.options { described["\(self.transport.name).\(name)"] = value }
        return described
    }
}
