public import Linkspan

extension ConnectionOptions {
    /// The keys of `linkspan.connection`.
    public static let declared: [PluginOption] = [
        PluginOption(
            "openDeadline", .seconds(0.001...3_600), fallback: "10",
            "How long opening a link may take, from the look-up of the name to the server's consent."),
        PluginOption(
            "credentialDeadline", .seconds(0.001...3_600), fallback: "10",
            "How long the credential provider may take."),
        PluginOption(
            "healthyAfter", .seconds(0...86_400), fallback: "10",
            "How long a link must have been up before its loss begins a new count of failures."),
        PluginOption(
            "linger", .seconds(0...86_400), fallback: "5",
            "How long a connection stays up when nobody holds it any more."),
        PluginOption(
            "bufferCommands", .number(1...10_000_000), fallback: "1000",
            "How many commands may wait while the connection is down."),
        PluginOption(
            "bufferBytes", .number(1...(1 << 40)), fallback: "4194304",
            "How many bytes may wait while the connection is down."),
        PluginOption(
            "bufferMaxAge", .seconds(0.01...31_536_000), fallback: "no limit",
            "How long a command may wait while the connection is down."),
        PluginOption(
            "bufferOverflow", .choice(["refuse", "dropOldest", "dropNewest"]), fallback: "refuse",
            "What happens to commands when there is no room."),
        PluginOption(
            "deliveryCommands", .number(1...10_000_000), fallback: "10000",
            "How many deliveries may wait for their replies."),
        PluginOption(
            "deliveryBytes", .number(1...(1 << 40)), fallback: "67108864",
            "How many bytes of deliveries may wait for their replies."),
        PluginOption(
            "deliveryRepeatAfter", .seconds(0.01...86_400), fallback: "20",
            "How long a delivery waits for its reply before it is sent again."),
        PluginOption(
            "deliveryAttempts", .number(1...1_000_000), fallback: "no limit",
            "How often a delivery is sent before it fails."),
        PluginOption(
            "deliveryKey", .choice(["none", "lastArgument"]), fallback: "none", reload: .restart,
            "Where the key goes by which a server recognises a delivery."),
        PluginOption(
            "flushCommands", .number(1...10_000_000), fallback: "256",
            "How many commands leave in one turn once the connection is up."),
        PluginOption(
            "flushBytes", .number(1...(1 << 40)), fallback: "1048576", "After how many bytes a turn ends."),
        PluginOption("flushPause", .seconds(0...60), fallback: "0.01", "The time between two turns."),
        PluginOption(
            "retry", .choice(["backoff", "never"]), fallback: "backoff", "Whether a lost link is opened again."),
        PluginOption(
            "retryFirstSpread", .seconds(0...86_400), fallback: "2", "The span over which first attempts are spread."),
        PluginOption("retryInitial", .seconds(0.01...86_400), fallback: "4", "The wait that doubles."),
        PluginOption(
            "retryEarlyCap", .seconds(0.01...86_400), fallback: "5", "The longest wait while the outage is young."),
        PluginOption("retryEarlyPeriod", .seconds(0...86_400), fallback: "60", "How long an outage counts as young."),
        PluginOption("retryCap", .seconds(0.01...86_400), fallback: "30", "The longest wait afterwards."),
        PluginOption(
            "retryLimit", .number(1...1_000_000), fallback: "no limit",
            "After how many attempts in a row it gives up."),
        PluginOption(
            "trace", .number(0...65_536), fallback: "0",
            "How many of the latest frames are remembered for a report, without their contents."),
    ]

    /// Takes over what was given; the rest stays.
    mutating func apply(_ values: OptionValues) {
        self.openDeadline = values.duration("openDeadline") ?? self.openDeadline
        self.credentialDeadline = values.duration("credentialDeadline") ?? self.credentialDeadline
        self.healthyAfter = values.duration("healthyAfter") ?? self.healthyAfter
        self.linger = values.duration("linger") ?? self.linger
        self.buffer.commands = values.number("bufferCommands") ?? self.buffer.commands
        self.buffer.bytes = values.number("bufferBytes") ?? self.buffer.bytes
        self.buffer.maxAge = values.duration("bufferMaxAge") ?? self.buffer.maxAge
        self.buffer.overflow =
            values.text("bufferOverflow").flatMap(BufferLimits.Overflow.init(rawValue:)) ?? self.buffer.overflow
        self.deliveries.commands = values.number("deliveryCommands") ?? self.deliveries.commands
        self.deliveries.bytes = values.number("deliveryBytes") ?? self.deliveries.bytes
        self.deliveries.repeatAfter = values.duration("deliveryRepeatAfter") ?? self.deliveries.repeatAfter
        self.deliveries.attempts = values.number("deliveryAttempts") ?? self.deliveries.attempts
        self.deliveries.key =
            values.text("deliveryKey").flatMap(DeliveryOptions.KeyPlacement.init(rawValue:)) ?? self.deliveries.key
        self.flush.commands = values.number("flushCommands") ?? self.flush.commands
        self.flush.bytes = values.number("flushBytes") ?? self.flush.bytes
        self.flush.pause = values.duration("flushPause") ?? self.flush.pause
        self.trace = values.number("trace") ?? self.trace
        self.applyRetry(values)
    }

    private mutating func applyRetry(_ values: OptionValues) {
        guard values.text("retry") != "never" else {
            self.retry = .never
            self.retryName = "never"
            return
        }
        guard values.values.keys.contains(where: { $0.hasPrefix("retry") && $0 != "retry" }) else { return }
        var backoff = Backoff()
        backoff.firstSpread = values.duration("retryFirstSpread") ?? backoff.firstSpread
        backoff.initial = values.duration("retryInitial") ?? backoff.initial
        backoff.earlyCap = values.duration("retryEarlyCap") ?? backoff.earlyCap
        backoff.earlyPeriod = values.duration("retryEarlyPeriod") ?? backoff.earlyPeriod
        backoff.cap = values.duration("retryCap") ?? backoff.cap
        let limit = values.number("retryLimit")
        self.retry = .backoff(backoff, limit: limit)
        // Connections with equal schedules may be shared, so the name must tell the schedule and nothing else.
        self.retryName =
            "backoff \(backoff.firstSpread) \(backoff.initial) \(backoff.earlyCap)/\(backoff.earlyPeriod) "
            + "\(backoff.cap) limit \(limit.map { "\($0)" } ?? "none")"
    }
}
