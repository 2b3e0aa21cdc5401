/// Further endpoints of the service that a connection's URL names, and the policy by which they are used.
///
/// ```swift
/// let connection = try ConnectionBuilder("https://eu.chat.example")
///     .transport(.socketIO)
///     .options { $0.endpoints.urls = ["https://us.chat.example"] }
///     .connect()
/// ```
///
/// When an endpoint is down or refuses the connection, the next attempt goes to another one. All share one budget: the attempts of
/// the manager, the limit and the time of the ``RetryPolicy``; its wait grows with each round over all endpoints. A connection
/// that had been up for 10 s first tries the endpoint that it lost, because its session is there.
/// Refused credentials and a server that ends the connection for good are answers of the service, and no reason to try another
/// endpoint. Credentials that name a URL of their own leave no choice.
///
/// The pool knows the connection by its own URL, whatever endpoint it uses. ``ConnectionStatus/endpoint`` and `explain()` name that.
public struct Endpoints: Sendable, Hashable {
    /// The URLs besides the connection's own, which is the first of the list.
    ///
    /// Default none. Each has a scheme of the transport, and TLS if the first has it.
    public var urls: [String] = []
    /// Whether they are tried in an order of chance that is drawn once for each connection, so that clients spread over the endpoints;
    /// otherwise, as by default, in the order of the list.
    public var isShuffled = false
    /// The time after which a connection returns from another endpoint to the first, unless ``isShuffled``; nil to return with the
    /// next outage.
    ///
    /// Default 300 s. It closes its link politely when no request is under way, or a minute later, and tries the first endpoint; when
    /// that fails, the others follow and the time doubles, up to 16 times.
    public var returnAfter: Duration? = .seconds(300)

    /// The list as text, for comparing and explaining: instead of queries, which may hold secrets, it has their hash.
    var described: String {
        guard !self.urls.isEmpty else { return "none" }
        let urls = self.urls.map(ConnectionURL.redacted).joined(separator: " ")
        let hash = String(UInt(bitPattern: self.urls.hashValue), radix: 16)
        let returning = self.returnAfter.map { "\($0)" } ?? "the next outage"
        return "\(self.order) \(urls) (\(hash)) return after \(returning)"
    }

    /// The order in which the endpoints are tried, in a word.
    var order: String { self.isShuffled ? "shuffled" : "ordered" }

    /// The list without repetitions, the connection's own URL first.
    ///
    /// - Throws: ``LinkspanError`` with code `invalidURL`.
    func list(after first: ConnectionURL) throws(LinkspanError) -> [ConnectionURL] {
        var list = [first]
        for text in self.urls {
            let url = try ConnectionURL(text)
            if !list.contains(url) { list.append(url) }
        }
        return list
    }

    /// Refuses what cannot work.
    func validate() throws(LinkspanError) {
        for url in self.urls { _ = try ConnectionURL(url) }
        guard self.returnAfter ?? .seconds(1) > .zero else {
            throw LinkspanError(.invalidConfiguration, "endpoints.returnAfter must be above zero")
        }
    }

    /// Refuses URLs that the transport does not carry, or that give up the encryption of the first.
    func validate(after first: ConnectionURL, over transport: any Transport) throws(LinkspanError) {
        for url in try self.list(after: first) {
            guard transport.schemes.contains(url.scheme) else {
                throw LinkspanError(
                    .invalidURL, "transport '\(transport.name)' does not support the endpoint \(url)")
            }
            guard url.isSecure || !first.isSecure else {
                throw LinkspanError(
                    .invalidURL, "the endpoint \(url) would give up the encryption of \(first)")
            }
        }
    }
}
