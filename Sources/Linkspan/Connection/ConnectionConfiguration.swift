/// Everything that is needed to connect.
///
/// Made by ``ConnectionBuilder``, so that it is always complete.
public struct ConnectionConfiguration: Sendable {
    /// The endpoint.
    public let url: ConnectionURL
    /// What carries the traffic.
    public let transport: any Transport
    /// How the connection behaves.
    public let options: ConnectionOptions
    /// Where credentials come from.
    public let credentials: CredentialSource
    /// What a former process left to resume its session from; for a connection that is not in the pool yet.
    public let resumption: Secret?
    /// Who the connection is to the server: with the URL, what the pool knows it by.
    public let identity: ConnectionIdentity

    init(
        url: ConnectionURL, transport: any Transport, options: ConnectionOptions, credentials: CredentialSource,
        resumption: Secret? = nil
    ) {
        self.resumption = resumption
        self.url = url
        self.transport = transport
        self.options = options
        self.credentials = credentials
        self.identity = ConnectionIdentity(credentials, over: transport)
    }

    /// Connects: gets the pooled connection for this URL and these credentials from the manager, or makes it.
    ///
    /// - Throws: ``LinkspanError`` with code `conflictingOptions`.
    public func connect(by manager: ConnectionManager = .shared) throws(LinkspanError) -> ConnectionHandler {
        try manager.connect(self)
    }

    /// The options by name, for comparing two configurations.
    var described: [String: String] {
        var described = self.options.described
        described["transport"] = "\(self.transport.name) (\(type(of: self.transport)))"
        for (name, value) in self.transport.options { described["\(self.transport.name).\(name)"] = value }
        return described
    }
}
