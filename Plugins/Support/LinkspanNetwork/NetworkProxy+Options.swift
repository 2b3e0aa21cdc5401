internal import Linkspan

extension NetworkProxy {
    /// The options of a configuration that make a proxy; the same for every transport.
    static let options: [PluginOption] = [
        PluginOption(
            "proxy", .text, fallback: "none",
            "The proxy: http://proxy.example:3128 or socks5://proxy.example:1080; HTTP without a scheme."),
        PluginOption("proxyUser", .text, fallback: "none", "The user name for the proxy."),
        PluginOption(
            "proxyPassword", .text, fallback: "none", isSecret: true, "The password for the proxy."),
    ]

    /// Makes a proxy of a configuration's values, nil when there is none.
    ///
    /// - Throws: ``LinkspanError`` with code `invalidConfiguration` when it is not understood, and for a name or password
    ///   without a proxy.
    static func make(_ values: OptionValues) throws(LinkspanError) -> Self? {
        let (user, password) = (values["proxyUser"] as String?, values["proxyPassword"] as String?)
        guard let text: String = values["proxy"] else {
            guard user == nil, password == nil else {
                throw LinkspanError(.invalidConfiguration, "name and password of a proxy need the option proxy")
            }
            return nil
        }
        guard user != nil || password == nil else {
            throw LinkspanError(.invalidConfiguration, "the proxy's password needs the option proxyUser")
        }
        return try Self(text, user: user, password: password.map { Secret($0) })
    }
}
