package import Linkspan

extension NetworkConfiguration {
    /// The settings that identify the client to a server or a proxy, for `Transport.identity`: the client certificate,
    /// name and password for the proxy, and header fields that are sent with every request.
    ///
    /// - Returns: the settings by name; empty when none identifies the client.
    package func identity(headers: [Credentials.Field] = []) -> [String: Secret] {
        var settings: [String: Secret] = [:]
        if let own = self.tls.clientCertificate {
            switch own.certificate {
            case .file(let path): settings["certificate"] = Secret("file \(path)")
            case .pem(let bytes): settings["certificate"] = Secret("\(bytes)")
            #if canImport(Security)
            case .keychain(let label): settings["certificate"] = Secret("keychain \(label)")
            #endif
            }
            switch own.key {
            case .file(let path): settings["key"] = Secret("file \(path)")
            case .pem(let key): settings["key"] = key
            #if canImport(Security)
            case .keychain: settings["key"] = Secret("keychain")
            #endif
            }
        }
        if let proxy = self.proxy, let user = proxy.user {
            let parts = [proxy.kind.rawValue, proxy.host, "\(proxy.port)", user, proxy.password?.exposed ?? ""]
            settings["proxy"] = Secret(joined(parts))
        }
        if !headers.isEmpty {
            settings["headers"] = Secret(joined(headers.flatMap { [$0.name, $0.value.exposed] }))
        }
        return settings
    }
}

/// Each part has its length in front, so that no two lists become the same text.
private func joined(_ parts: [String]) -> String {
    parts.map { "\($0.utf8.count) \($0)" }.joined(separator: " ")
}
