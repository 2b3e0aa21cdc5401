package import Linkspan

extension StreamRequest {
    /// Makes the upgrade request of a link.
    ///
    /// - Parameters:
    ///   - request: the link's request, with URL, credentials and deadline.
    ///   - path: the path to ask for.
    ///   - query: items in front of those of the URL and the credentials.
    ///   - headers: headers in front of those of the credentials.
    ///   - tls: how the server is verified.
    ///   - proxy: the proxy to go through, nil for none.
    ///   - socketPath: the path of a Unix-domain socket to connect to, nil for none.
    package init(
        _ request: LinkRequest, path: String, query: [(name: String, value: String)] = [],
        headers: [(name: String, value: String)] = [], tls: TLSPolicy,
        proxy: NetworkProxy? = nil, socketPath: String? = nil
    ) {
        var items = query.map { "\(PercentEncoding.escape($0.name))=\(PercentEncoding.escape($0.value))" }
        if let own = request.url.query, !own.isEmpty { items.append(own) }
        items += request.credentials.query.map {
            "\(PercentEncoding.escape($0.name))=\(PercentEncoding.escape($0.value.exposed))"
        }
        let target = items.isEmpty ? path : "\(path)?\(items.joined(separator: "&"))"
        self.init(
            host: request.url.host, port: request.url.port, isSecure: request.url.isSecure, target: target,
            headers: headers + request.credentials.headers.map { ($0.name, $0.value.exposed) }, tls: tls,
            deadline: request.deadline, proxy: proxy)
        self.socketPath = socketPath
    }
}
