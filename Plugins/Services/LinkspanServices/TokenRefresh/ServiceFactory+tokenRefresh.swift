internal import Linkspan
public import LinkspanMessaging

extension ServiceFactory {
    /// The service `tokenrefresh`, which renews the tokens of a ``TokenSource`` before they expire, whether or not the
    /// connection is up.
    ///
    /// Connections have their credentials renewed ahead themselves, but only while they are up. With this service a
    /// reconnect after a long outage finds a fresh token too, and emits events about tokens:
    ///
    /// - `refreshed` for every token that comes, with its lifetime and how many fetches it took;
    /// - `refreshFailed` for every fetch that fails, with the code or the type of the error and never its text, and when
    ///   the next one follows, if any;
    /// - `revoked` once, when the fetch throws ``TokenRevoked`` or a connection with these tokens is refused
    ///   permanently.
    ///
    /// A token is renewed `lead` and up to `jitter` before its end, after half of its time at the earliest, or when a
    /// connection asks before that. A renewal that fails is repeated after pauses that double from 1 s to 60 s, half of
    /// them left to chance, until `maxAttempts` have failed; from then on only a connection that asks begins a fetch. No
    /// token is in any event.
    ///
    /// Its options are `lead`, how long before its end a token is renewed, 60 s by default; `jitter`, how much earlier
    /// chance may have it, 15 s by default; and `maxAttempts`, how many fetches in a row may fail, 5 by default.
    ///
    /// - Parameter tokens: the source of tokens; give its ``TokenSource/credentials`` to the plan.
    /// - Returns: the factory.
    public static func tokenRefresh(_ tokens: TokenSource) -> ServiceFactory {
        ServiceFactory(
            "tokenrefresh",
            options: [
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
        ) { values throws(LinkspanError) in
            TokenRefreshService(tokens, options: try values.decode(over: TokenRefreshService.Options()))
        } reconfigure: {
            // When tokens are renewed, for those there are, too.
            let timing = try $1.decode(over: TokenRefreshService.Options()).timing
            await $0.tokens.refresher.apply(timing, of: $0.owner)
        }
    }
}
