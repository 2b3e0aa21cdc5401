public import Linkspan

/// What a transport's settings tell a server or a proxy about who connects, for `Transport.identity`.
public enum NetworkIdentity {
    /// Collects the settings that tell who connects.
    ///
    /// - Parameters:
    ///   - tls: whose client certificate counts.
    ///   - proxy: whose name and password count.
    ///   - headers: header fields that are sent with every request.
    /// - Returns: the settings by name; empty when they tell nothing.
    public static func settings(
        _ tls: TLSPolicy, _ proxy: HTTPProxy?, headers: [Credentials.Field] = []
    ) -> [String: Secret] {
        var settings: [String: Secret] = [:]
        if let own = tls.clientCertificate {
            switch own.certificate {
            case .file(let path): settings["certificate"] = Secret("file \(path)")
            case .pem(let bytes): settings["certificate"] = Secret("\(bytes)")
            }
            switch own.key {
            case .file(let path): settings["key"] = Secret("file \(path)")
            case .pem(let key): settings["key"] = key
            }
        }
        if let proxy, let user = proxy.user {
            // Each part says how long it is, so that no two proxies look the same.
            let parts = [proxy.host, "\(proxy.port)", user, proxy.password?.exposed ?? ""]
            settings["proxy"] = Secret(Self.join(parts))
        }
        if !headers.isEmpty {
            settings["headers"] = Secret(Self.join(headers.flatMap { [$0.name, $0.value.exposed] }))
        }
        return settings
    }

    private static func join(_ parts: [String]) -> String {
        parts.map { "\($0.utf8.count) \($0)" }.joined(separator: " ")
    }
}
