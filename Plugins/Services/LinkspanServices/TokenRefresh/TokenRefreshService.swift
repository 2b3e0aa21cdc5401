internal import Linkspan
public import LinkspanLifecycle
internal import LinkspanMessaging

/// Renews the tokens of a ``TokenSource`` before they expire, whether or not the connection is up.
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
public final class TokenRefreshService: LifecycleService {
    /// The name in registries and configuration.
    public let name: ServiceName = "tokenrefresh"
    /// Before services that use connections.
    public let placement = Placement(phase: .authentication)

    let tokens: TokenSource
    /// The options that it was made with; a change of the configuration takes others over.
    public let options: Options
    var owner: ObjectIdentifier { ObjectIdentifier(self) }

    /// Options of the service.
    public struct Options: Sendable, Hashable {
        /// The time before its expiry at which a token is renewed.
        ///
        /// Default 60 s.
        public var lead: Duration
        /// The largest random time by which a renewal is earlier than that, so that many clients do not ask at once.
        ///
        /// Default 15 s.
        public var jitter: Duration
        /// The number of failed fetches in a row after which the service waits for a connection to ask.
        ///
        /// Default 5.
        public var maxAttempts: Int

        /// Makes options; the defaults are those named at the properties.
        public init(lead: Duration = .seconds(60), jitter: Duration = .seconds(15), maxAttempts: Int = 5) {
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
    public init(_ tokens: TokenSource, options: Options = Options()) {
        self.tokens = tokens
        self.options = options
    }

    /// Begins to renew ahead.
    public func start(_ scope: ServiceScope) async throws {
        await self.tokens.refresher.start(self.options.timing, of: self.owner, self.tokens.credentials)
    }

    /// Emits the events of the tokens.
    public func run(_ scope: ServiceScope) async throws {
        guard let events = await self.tokens.refresher.events(of: self.owner) else { return }
        for await event in events { try scope.emit(event) }
    }

    /// Ends renewal ahead; connections that ask still get tokens.
    public func stop(_ scope: ServiceScope) async throws {
        await self.tokens.refresher.stop(self.owner)
    }
}
