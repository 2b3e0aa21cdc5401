/// The behaviour of a connection, independent of its transport.
///
/// Two holders of one pooled connection must agree on all of it. Values are compared by content; a ``RetryPolicy`` made
/// of a closure, a ``Greeting``, an ``Interceptor`` and a ``DeliveryStore`` by instance, so keep and pass on the one you made.
public struct ConnectionOptions: Sendable {
    /// Limits for the commands that wait while the connection is down (default 1,000 commands, 4 MiB, refuse).
    public var buffer = BufferLimits()
    /// Settings of deliveries: limits, repetition, keys and replies.
    ///
    /// Default 10,000 commands, 64 MiB, repeated after 20 s without limit, no key.
    public var deliveries = DeliveryOptions()
    /// The pace at which a backlog is sent once the connection is up (default 256 commands or 1 MiB, then a pause of 10
    /// ms).
    package var flush = FlushPacing()
    /// The exchange that begins every new link, before any command that waits (default nil: nothing).
    public var greeting: Greeting?
    /// The store that keeps deliveries across restarts of the process (default nil: in memory alone).
    public var store: (any DeliveryStore)?
    /// The chain that messages pass, the first next to the app and the last next to the wire (default empty: nothing).
    ///
    /// It cannot change while the connection exists.
    public var interceptors: [any Interceptor] = []
    /// Further endpoints of the same service, for attempts after one has failed (default none: the connection's URL
    /// alone).
    public var endpoints = Endpoints()
    /// The policy that decides about further attempts and their delays.
    ///
    /// Default ``RetryPolicy/backoff(firstSpread:initial:earlyCap:earlyPeriod:cap:retryAfterCap:limit:)``.
    public var retry = RetryPolicy.standard
    /// The timeout of requests that name none, including the wait for a connection (default 30 s).
    public var replyTimeout = Duration.seconds(30)
    /// The time limit for opening a link, from name resolution to the server's acceptance (default 10 s).
    public var openDeadline = Duration.seconds(10)
    /// The time limit for one call of the credential provider (default 10 s).
    package var credentialDeadline = Duration.seconds(10)
    /// The time a link must have been up before its loss begins a new count of failures (default 10 s).
    package var healthyAfter = Duration.seconds(10)
    /// The time a connection stays up after its last holder released it (default 5 s).
    public var idleTimeout = Duration.seconds(5)
    /// The time listeners may occupy the connection's executor before a warning is logged, once for each event (default
    /// 100 ms).
    ///
    /// An executor is shared: over the network by all connections of the transport's loop, which neither read nor send
    /// meanwhile. A sequence has a task of its own and delays no other connection.
    public var slowListener = Duration.milliseconds(100)
    /// The event by which the round trip is measured over a link: it is sent as a request without arguments, and any reply
    /// counts.
    ///
    /// Default nil: none is sent, and only a wire with pings of its own measures. Choose one that the server answers at once.
    public var probeEvent: String?
    /// The time between two such measurements, at least a second (default 30 s).
    public var probeInterval = Duration.seconds(30)

    /// Options with the defaults named at the properties, changed by `configure`.
    public init(_ configure: (inout Self) -> Void = { _ in }) { configure(&self) }

    /// The options as text, for comparing and explaining.
    var described: [String: String] {
        [
            "buffer": "\(self.buffer.commands)/\(self.buffer.bytes)/\(self.buffer.overflow)",
            "bufferMaxAge":
                "\(self.buffer.maxAge.map { "\($0)" } ?? "unlimited")\(self.buffer.failsFast ? ", failsFast" : "")",
            "deliveries": "\(self.deliveries.commands)/\(self.deliveries.bytes)",
            "repeat":
                "\(self.deliveries.repeatAfter)/\(self.deliveries.attempts.map(String.init) ?? "unlimited")/"
                + "\(self.deliveries.keyPlacement.map { "\($0)" } ?? "none")/\(self.deliveries.waitsAfterFailure ? "waits" : "fails")",
            "replies": "\(self.deliveries.replies.map { "\($0)" } ?? "all")/\(self.deliveries.refusals)",
            "flush": "\(self.flush.commands)/\(self.flush.bytes)/\(self.flush.pause)",
            "greeting": self.greeting?.comparison ?? "none",
            "store": self.store.map(Self.describe) ?? "none",
            "interceptors": self.interceptors.isEmpty
                ? "none" : self.interceptors.map { "\($0.name) \(Self.instance($0))" }.joined(separator: ", "),
            "endpoints": self.endpoints.described,
            "retry": self.retry.description,
            "replyTimeout": "\(self.replyTimeout)",
            "openDeadline": "\(self.openDeadline)",
            "credentialDeadline": "\(self.credentialDeadline)",
            "healthyAfter": "\(self.healthyAfter)",
            "idleTimeout": "\(self.idleTimeout)",
            "slowListener": "\(self.slowListener)",
            "probe": "\(self.probeEvent ?? "none")/\(self.probeInterval)",
        ]
    }

    /// Distinguishes stores that live at the same time, as the pool makes sure.
    private static func describe(_ store: any DeliveryStore) -> String {
        "\(type(of: store)) \(Self.instance(store))"
    }

    private static func instance(_ object: AnyObject) -> String {
        String(UInt(bitPattern: ObjectIdentifier(object)), radix: 16)
    }

    /// Whether deliveries stay when the connection has failed for good.
    var keepsDeliveries: Bool { self.deliveries.waitsAfterFailure || self.store != nil }

    /// Refuses values that cannot work.
    func validate() throws(LinkspanError) {
        try self.endpoints.validate()
        let limits = [self.buffer.commands, self.buffer.bytes, self.deliveries.commands, self.deliveries.bytes]
        guard limits.allSatisfy({ $0 > 0 }) else {
            throw LinkspanError(.invalidConfiguration, "the limits of buffer and deliveries must be above zero")
        }
        guard self.buffer.maxAge ?? .seconds(1) > .zero else {
            throw LinkspanError(.invalidConfiguration, "buffer.maxAge must be above zero")
        }
        guard self.flush.commands > 0, self.flush.bytes > 0, self.flush.pause >= .zero else {
            throw LinkspanError(
                .invalidConfiguration, "flush.commands and flush.bytes must be above zero, flush.pause at least zero")
        }
        guard self.deliveries.repeatAfter > .zero, self.deliveries.attempts ?? 1 > 0, self.deliveries.refusals > 0
        else {
            throw LinkspanError(
                .invalidConfiguration, "deliveries.repeatAfter, attempts and refusals must be above zero")
        }
        guard self.probeInterval >= .seconds(1), self.probeEvent?.isEmpty != true else {
            throw LinkspanError(
                .invalidConfiguration, "a probe must have an event with a name, and an interval of at least 1 s")
        }
        guard self.replyTimeout > .zero, self.slowListener > .zero, self.openDeadline > .zero,
            self.credentialDeadline > .zero,
            self.greeting?.deadline ?? .seconds(1) > .zero
        else {
            throw LinkspanError(
                .invalidConfiguration,
                "replyTimeout, slowListener, openDeadline, credentialDeadline and the greeting's deadline must be above zero"
            )
        }
        guard self.healthyAfter >= .zero, self.idleTimeout >= .zero else {
            throw LinkspanError(.invalidConfiguration, "healthyAfter and idleTimeout must not be negative")
        }
    }
}
