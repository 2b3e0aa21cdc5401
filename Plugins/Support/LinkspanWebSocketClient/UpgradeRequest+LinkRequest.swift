public import Linkspan
public import LinkspanLWS

extension UpgradeRequest {
    /// Makes the upgrade request of a link.
    ///
    /// - Parameters:
    ///   - request: the link's request, with URL, credentials and deadline.
    ///   - path: the path to ask for.
    ///   - query: items in front of those of the URL and the credentials.
    ///   - headers: headers in front of those of the credentials.
    ///   - tls: how the server is verified.
    ///   - proxy: the proxy to go through, nil for none.
    public init(
        _ request: LinkRequest, path: String, query: [(name: String, value: String)] = [],
        headers: [(name: String, value: String)] = [], tls: TLSPolicy,
        proxy: HTTPProxy? = nil
    ) {
        var items = query.map { "\(Self.escape($0.name))=\(Self.escape($0.value))" }
        if let own = request.url.query, !own.isEmpty { items.append(own) }
        items += request.credentials.query.map { "\(Self.escape($0.name))=\(Self.escape($0.value.exposed))" }
        let target = items.isEmpty ? path : "\(path)?\(items.joined(separator: "&"))"
        self.init(
            host: request.url.host, port: request.url.port, isSecure: request.url.isSecure, target: target,
            headers: headers + request.credentials.headers.map { ($0.name, $0.value.exposed) }, tls: TLSOptions(tls),
            deadline: request.deadline, proxy: proxy.map(ProxyOptions.init))
    }

    /// Percent-encodes everything but unreserved characters (RFC 3986 §2.3).
    private static func escape(_ text: String) -> String {
        var output = ""
        for byte in text.utf8 {
            let isUnreserved =
                (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10 || [0x2D, 0x2E, 0x5F, 0x7E].contains(byte)
            if isUnreserved {
                output.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                output += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
            }
        }
        return output
    }
}
