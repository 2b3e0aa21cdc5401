package import Linkspan

/// A key of `linkspan.connection`: how it is declared, and which property it sets.
///
/// The default in its declaration is the property's.
struct ConnectionKey: Sendable {
    /// The options with their retry policy in parts.
    struct Draft: Sendable {
        var options = ConnectionOptions()
        var retry = "backoff"
        var backoff = Backoff.standard
        var deliveryKey = "none"
        var deliveryKeyField = "key"
        var keeperRules: [String] = []
        var dataSaving = DataSaving.constrained.rawValue
    }

    let option: PluginOption
    let set: @Sendable (inout Draft, OptionValues) -> Void

    private typealias Property<Value> = any WritableKeyPath<Draft, Value> & Sendable

    private init<Value: Sendable>(
        _ name: String, _ kind: PluginOption.Kind, _ property: Property<Value>, fallback: String? = nil,
        reload: ChangeEffect? = nil, _ summary: String
    ) {
        let standard = Draft()[keyPath: property]
        let shown = (standard as? Duration).map { ($0 / .seconds(1)).plain } ?? "\(standard)"
        self.option = PluginOption(name, kind, fallback: fallback ?? shown, reload: reload, summary)
        self.set = { if let value: Value = $1[name] { $0[keyPath: property] = value } }
    }

    private init<Value: Sendable>(_ name: String, _ choices: [Value], _ property: Property<Value>, _ summary: String) {
        self.option = PluginOption(
            name, .choice(choices.map { "\($0)" }), fallback: "\(Draft()[keyPath: property])", reload: nil, summary)
        self.set = { draft, values in
            guard let value = choices.first(where: { "\($0)" == values[name] }) else { return }
            draft[keyPath: property] = value
        }
    }
}

extension ConnectionKey {
    /// A tebibyte, or the largest integer of the machine.
    private static let mostBytes = Int(clamping: Int64(1) << 40)

    static let all: [Self] = [
        Self(
            "replyTimeout", .seconds(0.001...86_400), \.options.replyTimeout,
            "The timeout of requests that name none."),
        Self(
            "openDeadline", .seconds(0.001...3_600), \.options.openDeadline,
            "The time limit for opening a link, from name resolution to the server's acceptance."),
        Self(
            "idleTimeout", .seconds(0...86_400), \.options.idleTimeout,
            "The time a connection stays up after its last holder released it."),
        Self(
            "keeperRules", .list, \.keeperRules, fallback: "none", reload: .refused,
            "The app's rules by which the keeper opens, closes and releases connections, the first one first."),
        Self(
            "dataSaving", .choice(DataSaving.allCases.map(\.rawValue)), \.dataSaving, reload: .refused,
            "When data is saved: never, while the network path is constrained, or also while it is expensive."),
        Self(
            "bufferCommands", .number(1...10_000_000), \.options.buffer.commands,
            "The number of commands that may wait while the connection is down."),
        Self(
            "bufferBytes", .number(1...Self.mostBytes), \.options.buffer.bytes,
            "The number of bytes that may wait while the connection is down."),
        Self(
            "bufferMaxAge", .seconds(0.01...31_536_000), \.options.buffer.maxAge, fallback: "no limit",
            "The longest time a command may wait while the connection is down."),
        Self(
            "bufferFailsFast", .flag, \.options.buffer.failsFast,
            "Whether requests fail when the first attempt of a connection has failed, and waiting hardly helps."),
        Self(
            "bufferOverflow", [.refuse, .dropOldest, .dropNewest], \.options.buffer.overflow,
            "The rule for a command that does not fit."),
        Self(
            "deliveryCommands", .number(1...10_000_000), \.options.deliveries.commands,
            "The number of deliveries that may wait for their replies."),
        Self(
            "deliveryBytes", .number(1...Self.mostBytes), \.options.deliveries.bytes,
            "The number of bytes of deliveries that may wait for their replies."),
        Self(
            "deliveryRepeatAfter", .seconds(0.01...86_400), \.options.deliveries.repeatAfter,
            "The time a delivery waits for its reply before it is sent again."),
        Self(
            "deliveryAttempts", .number(1...1_000_000), \.options.deliveries.attempts, fallback: "no limit",
            "The number of times a delivery is sent before it fails."),
        Self(
            "deliveryKey", .choice(["none", "lastArgument", "field"]), \.deliveryKey, reload: .refused,
            "Where the key is sent by which a server recognises a delivery: not at all, as the last argument, or as a "
                + "field of the first."),
        Self(
            "deliveryKeyField", .text, \.deliveryKeyField, reload: .refused,
            "The name of that field, with 'deliveryKey: field'."),
        Self(
            "deliveryWaitsAfterFailure", .flag, \.options.deliveries.waitsAfterFailure,
            "Whether deliveries wait for connect() after a permanent failure."),
        Self("retry", .choice(["backoff", "never"]), \.retry, "Whether a lost link is opened again."),
        Self(
            "retryFirstSpread", .seconds(0...86_400), \.backoff.firstSpread,
            "The time over which first attempts are spread."),
        Self(
            "retryInitial", .seconds(0.01...86_400), \.backoff.initial,
            "The first wait, which doubles with each failure."),
        Self("retryEarlyCap", .seconds(0.01...86_400), \.backoff.earlyCap, "The longest wait early in an outage."),
        Self(
            "retryEarlyPeriod", .seconds(0...86_400), \.backoff.earlyPeriod,
            "The time during which an outage counts as early."),
        Self("retryCap", .seconds(0.01...86_400), \.backoff.cap, "The longest wait after that."),
        Self(
            "retryAfterCap", .seconds(0...31_536_000), \.backoff.retryAfterCap,
            "The longest Retry-After that is respected."),
        Self(
            "retryLimit", .number(1...1_000_000), \.backoff.limit, fallback: "no limit",
            "The number of failed attempts in a row after which the connection is not retried."),
        Self(
            "retryTotal", .seconds(0.01...31_536_000), \.backoff.total, fallback: "no limit",
            "The age of an outage from which on the connection is not retried."),
        Self(
            "slowListener", .seconds(0.001...3_600), \.options.slowListener,
            "The time listeners may occupy the executor before a warning is logged."),
        Self(
            "endpoints", .list, \.options.endpoints.urls, fallback: "none",
            "Further URLs of the same service, for attempts after one endpoint has failed."),
        Self(
            "endpointsShuffled", .flag, \.options.endpoints.isShuffled,
            "Whether the endpoints are tried in an order of chance instead of the order of the list."),
        Self(
            "endpointReturnAfter", .seconds(1...31_536_000), \.options.endpoints.returnAfter, fallback: "300",
            "The time after which a connection returns to the first endpoint."),
        Self(
            "probeEvent", .text, \.options.probeEvent, fallback: "none",
            "The event that measures the round trip: a request without arguments that the server answers at once."),
        Self(
            "probeInterval", .seconds(1...86_400), \.options.probeInterval,
            "The interval between two such measurements."),
    ]
}

extension ConnectionOptions {
    /// The keys of `linkspan.connection`.
    package static let declared: [PluginOption] = ConnectionKey.all.map { $0.option }

    /// The default options with the given values applied.
    init(_ values: OptionValues) {
        var draft = ConnectionKey.Draft()
        // A property that may be nil would take a missing value for one.
        for key in ConnectionKey.all where values.values[key.option.name] != nil { key.set(&draft, values) }
        self = draft.options
        switch draft.deliveryKey {
        case "lastArgument": self.deliveries.keyPlacement = .lastArgument
        case "field": self.deliveries.keyPlacement = .field(draft.deliveryKeyField)
        default: ()
        }
        if draft.retry == "never" {
            self.retry = .never
        } else if draft.backoff != Backoff.standard {
            self.retry = .backoff(draft.backoff)
        }
    }
}
