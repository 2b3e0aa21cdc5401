/// How a connection behaves, whatever its transport.
///
/// Two holders of one pooled connection must agree on all of it. Values are compared by content; a ``RetryPolicy`` made
/// of a closure, a ``Greeting`` and a ``DeliveryStore`` by instance, so keep and pass on the one you made.
public struct ConnectionOptions: Sendable {
    /// Bounds of what may wait while the connection is down.
    ///
    /// Default 1,000 commands, 4 MiB, refuse.
    public var buffer = BufferLimits()
    /// What `deliver` promises: its bounds, when it repeats, its keys.
    ///
    /// Default 10,000 commands, 64 MiB, repeated after 20 s without limit, no key.
    public var deliveries = DeliveryOptions()
    /// How fast what has waited leaves once the connection is up.
    ///
    /// Default 256 commands or 1 MiB, then a pause of 10 ms.
    public var flush = FlushPacing()
    /// What is said first over every new link, before anything that waits.
    ///
    /// Default nil: nothing.
    public var greeting: Greeting?
    /// Where deliveries are kept so that they outlive the process.
    ///
    /// Default nil: in memory alone.
    public var store: (any DeliveryStore)?
    /// When to try again.
    ///
    /// Default ``RetryPolicy/standard``.
    public var retry = RetryPolicy.standard
    /// How long a request may take that names no limit of its own, the wait for a connection included.
    ///
    /// Default 30 s.
    public var replyTimeout = Duration.seconds(30)
    /// How long opening a link may take, from the first look-up of the name to the server's consent.
    ///
    /// Default 10 s.
    public var openDeadline = Duration.seconds(10)
    /// How long the credential provider may take.
    ///
    /// Default 10 s.
    public var credentialDeadline = Duration.seconds(10)
    /// How long a link must have been up before its loss begins a new count of failures.
    ///
    /// Default 10 s.
    public var healthyAfter = Duration.seconds(10)
    /// How long a connection stays up when nobody holds it any more.
    ///
    /// Default 5 s.
    public var idleTimeout = Duration.seconds(5)
    /// How long listeners may hold the connection's executor before a warning is logged, once for each event.
    ///
    /// Default 100 ms. An executor is shared: over the network by all connections of the transport's
    /// loop, which neither read nor send meanwhile. A sequence has a task of its own and holds up nobody.
    public var slowListener = Duration.milliseconds(100)
    /// How many of the latest frames are remembered for ``ConnectionStatus/description``: names, sizes and times, never
    /// contents.
    ///
    /// Default 0, none: it costs about a tenth of what a message costs. 64 is a good number to find a fault with.
    public var trace = 0

    /// Options with the defaults named at the properties, changed by `configure`.
    public init(_ configure: (inout Self) -> Void = { _ in }) { configure(&self) }

    /// The options as text, for comparing and explaining.
    var described: [String: String] {
        [
            "buffer": "\(self.buffer.commands)/\(self.buffer.bytes)/\(self.buffer.overflow)",
            "bufferMaxAge": "\(self.buffer.maxAge.map { "\($0)" } ?? "unlimited")",
            "deliveries": "\(self.deliveries.commands)/\(self.deliveries.bytes)",
            "repeat":
                "\(self.deliveries.repeatAfter)/\(self.deliveries.attempts.map(String.init) ?? "unlimited")/"
                + "\(self.deliveries.appendsKey ? "appends" : "none")/\(self.deliveries.waitsAfterFailure ? "waits" : "fails")",
            "replies": "\(self.deliveries.replies.map(\.description) ?? "all")/\(self.deliveries.refusals)",
            "flush": "\(self.flush.commands)/\(self.flush.bytes)/\(self.flush.pause)",
            "greeting": self.greeting?.comparison ?? "none",
            "store": self.store.map(Self.describe) ?? "none",
            "retry": self.retry.description,
            "replyTimeout": "\(self.replyTimeout)",
            "openDeadline": "\(self.openDeadline)",
            "credentialDeadline": "\(self.credentialDeadline)",
            "healthyAfter": "\(self.healthyAfter)",
            "idleTimeout": "\(self.idleTimeout)",
            "slowListener": "\(self.slowListener)",
            "trace": "\(self.trace)",
        ]
    }

    /// Tells one store from another while both live, as the pool sees to.
    private static func describe(_ store: any DeliveryStore) -> String {
        "\(type(of: store)) \(String(UInt(bitPattern: ObjectIdentifier(store)), radix: 16))"
    }

    /// Whether deliveries stay when the connection has failed for good.
    var keepsDeliveries: Bool { self.deliveries.waitsAfterFailure || self.store != nil }

    /// Refuses values that cannot work.
    func validate() throws(LinkspanError) {
        let limits = [self.buffer.commands, self.buffer.bytes, self.deliveries.commands, self.deliveries.bytes]
        guard limits.allSatisfy({ $0 > 0 }) else {
            throw LinkspanError(.invalidConfiguration, "buffer limits must be above zero")
        }
        guard self.buffer.maxAge ?? .seconds(1) > .zero else {
            throw LinkspanError(.invalidConfiguration, "commands must be allowed to wait for a while")
        }
        guard self.flush.commands > 0, self.flush.bytes > 0, self.flush.pause >= .zero else {
            throw LinkspanError(.invalidConfiguration, "a turn of the flush must have room for something")
        }
        guard self.deliveries.repeatAfter > .zero, self.deliveries.attempts ?? 1 > 0, self.deliveries.refusals > 0
        else {
            throw LinkspanError(.invalidConfiguration, "deliveries must be sent at least once, and repeated later")
        }
        guard (0...65_536).contains(self.trace) else {
            throw LinkspanError(.invalidConfiguration, "the trace must have from 0 to 65,536 frames")
        }
        guard self.replyTimeout > .zero, self.slowListener > .zero, self.openDeadline > .zero,
            self.credentialDeadline > .zero,
            self.greeting?.deadline ?? .seconds(1) > .zero
        else {
            throw LinkspanError(.invalidConfiguration, "deadlines must be above zero")
        }
        guard self.healthyAfter >= .zero, self.idleTimeout >= .zero else {
            throw LinkspanError(.invalidConfiguration, "durations must not be negative")
        }
    }
}
