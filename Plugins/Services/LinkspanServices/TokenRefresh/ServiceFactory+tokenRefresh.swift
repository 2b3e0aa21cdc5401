public import Linkspan
public import LinkspanMessaging

extension ServiceFactory {
    /// The service `tokenrefresh`, which renews tokens before they expire; see ``TokenRefreshService``.
    ///
    /// Its options are `lead`, how long before its end a token is renewed, 60 s by default; `jitter`, how much earlier
    /// chance may have it, 15 s by default; and `maxAttempts`, how many fetches in a row may fail, 5 by default.
    ///
    /// - Parameter tokens: the source of tokens; give its ``TokenSource/credentials`` to the plan.
    /// - Returns: the factory.
    public static func tokenRefresh(_ tokens: TokenSource) -> ServiceFactory {
        ServiceFactory("tokenrefresh", options: Self.tokenRefreshOptions) { values throws(LinkspanError) in
            TokenRefreshService(tokens, options: TokenRefreshService.Options(values))
        }
    }

    private static let tokenRefreshOptions = [
        PluginOption(
            "lead", .seconds(0...86_400), fallback: "60", isHot: true,
            "The time before its expiry at which a token is renewed."),
        PluginOption(
            "jitter", .seconds(0...3_600), fallback: "15", isHot: true,
            "The largest random time by which a renewal is earlier."),
        PluginOption(
            "maxAttempts", .number(1...1_000), fallback: "5", isHot: true,
            "The number of failed fetches in a row after which the service waits for a connection to ask."),
    ]
}

extension TokenRefreshService.Options {
    /// Reads the options that configuration has given.
    ///
    /// - Parameter values: the options, checked against their declarations.
    public init(_ values: OptionValues) {
        self.init()
        if let lead: Duration = values["lead"] { self.lead = lead }
        if let jitter: Duration = values["jitter"] { self.jitter = jitter }
        if let maxAttempts: Int = values["maxAttempts"] { self.maxAttempts = maxAttempts }
    }
}

extension TokenRefreshService: Reconfigurable {
    /// Takes over when tokens are renewed, for those there are, too.
    ///
    /// - Parameter options: all of them.
    public func reconfigure(_ options: OptionValues) async {
        await self.tokens.refresher.apply(Options(options).timing, of: self.owner)
    }
}
