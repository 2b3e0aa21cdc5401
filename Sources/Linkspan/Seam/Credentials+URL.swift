extension Credentials {
    /// The URL to connect to with these credentials.
    ///
    /// A scheme may be replaced by the same one, by one with TLS, or `http` and `ws` by each other; of other schemes
    /// nobody knows which of two protects more.
    ///
    /// - Parameters:
    ///   - configured: the URL of the connection.
    ///   - transport: what carries it.
    /// - Returns: the URL of the credentials, or the configured one when they name none.
    /// - Throws: ``LinkspanError`` with code `invalidURL`.
    func endpoint(
        insteadOf configured: ConnectionURL, over transport: any Transport
    ) throws(LinkspanError) -> ConnectionURL {
        guard let url = self.url, url != configured else { return configured }
        guard transport.schemes.contains(url.scheme) else {
            throw LinkspanError(
                .invalidURL,
                "the credentials name a URL with scheme '\(url.scheme)', which transport '\(transport.name)' does not "
                    + "carry")
        }
        let plain: Set<String> = ["http", "ws"]
        let isAsSafe =
            url.scheme == configured.scheme || url.isSecure
            || plain.isSuperset(of: [url.scheme, configured.scheme])
        guard isAsSafe else {
            throw LinkspanError(
                .invalidURL,
                "the credentials name a URL with scheme '\(url.scheme)' where '\(configured.scheme)' is configured: "
                    + "that would give up encryption")
        }
        return url
    }
}
