internal import Linkspan
package import LinkspanLifecycle
internal import LinkspanMessaging

/// Renews the tokens of a ``TokenSource`` ahead, and emits events about them; see ``ServiceFactory/tokenRefresh(_:)``.
package final class TokenRefreshService: LifecycleService {
    /// The name in registries and configuration.
    package let name: ServiceName = "tokenrefresh"
    /// Before services that use connections.
    package let placement = Placement(phase: .authentication)

    let tokens: TokenSource
    /// The options that it was made with; a change of the configuration takes others over.
    package let options: Options
    var owner: ObjectIdentifier { ObjectIdentifier(self) }

    /// Options of the service.
    package struct Options: Sendable, Hashable, Decodable {
        /// The time before its expiry at which a token is renewed.
        ///
        /// Default 60 s.
        package var lead: Duration
        /// The largest random time by which a renewal is earlier than that, so that many clients do not ask at once.
        ///
        /// Default 15 s.
        package var jitter: Duration
        /// The number of failed fetches in a row after which the service waits for a connection to ask.
        ///
        /// Default 5.
        package var maxAttempts: Int

        /// Makes options; the defaults are those named at the properties.
        package init(lead: Duration = .seconds(60), jitter: Duration = .seconds(15), maxAttempts: Int = 5) {
            self.lead = lead
            self.jitter = jitter
            self.maxAttempts = maxAttempts
        }

        var timing: RenewalSchedule.Timing {
            .init(lead: self.lead, spread: self.jitter, maxFailures: self.maxAttempts)
        }
    }

    /// Makes the service.
    ///
    /// - Parameters:
    ///   - tokens: the tokens to renew.
    ///   - options: the options.
    package init(_ tokens: TokenSource, options: Options = Options()) {
        self.tokens = tokens
        self.options = options
    }

    /// Begins to renew ahead.
    package func start(_ scope: ServiceScope) async throws {
        await self.tokens.refresher.start(self.options.timing, of: self.owner, self.tokens.credentials)
    }

    /// Emits the events of the tokens.
    package func run(_ scope: ServiceScope) async throws {
        guard let events = await self.tokens.refresher.events(of: self.owner) else { return }
        for await event in events { try scope.emit(event) }
    }

    /// Ends renewal ahead; connections that ask still get tokens.
    package func stop(_ scope: ServiceScope) async throws {
        await self.tokens.refresher.stop(self.owner)
    }
}
